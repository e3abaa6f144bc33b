// bitsandbytes. In 4 bits (QLoRA, Dettmers et al., arXiv:2305.14314), of a parameter X:
//
//     X                      bytes of any type: indices into the code, in row-major order, the first of two in the
//                            upper half of a byte
//     X.quant_map            F32 [16]       the code: nf4's or fp4's values
//     X.absmax               F32 [blocks]   a factor per block; U8 if the factors are quantised once more
//     X.nested_absmax, X.nested_quant_map   F32 [blocks of blocks], F32 [256]: their factors and code
//     X.quant_state.bitsandbytes__nf4       U8: JSON with quant_type, blocksize, dtype, shape, nested_blocksize,
//                                           nested_dtype, nested_offset
//
// In 8 bits (LLM.int8(), arXiv:2208.07339), of a module X: X.weight I8 [outputs, inputs], X.SCB F32 [outputs], the
// absolute maximum of each row, and X.weight_format, which is 0 for row-major.
#include <cmath>
#include <cstring>
#include <optional>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/quantized/affine.h"
#include "converter/checkpoint/quantized/method.h"
#include "converter/error.h"

namespace ferry::quantized {
namespace {

using nlohmann::json;

constexpr std::string_view kState = ".quant_state.bitsandbytes__";

// Blocks of 8-bit indices into a code.
struct NestedFactors {
  CheckpointTensor factors, code;
  size_t block;
  float offset;
};

struct FourBits {
  CheckpointTensor code, factors;
  std::optional<NestedFactors> nested;
  size_t block;
  ElementType type;  // of the values
};

// The kernels' arithmetic: code times factor in float32, rounded to the type of the state.
class FourBitWeight final : public Encoding {
 public:
  explicit FourBitWeight(FourBits parts) : parts_(std::move(parts)) {}

  std::vector<float> values(std::span<const std::byte> bytes, const std::vector<int64_t>& shape) const override {
    size_t count = 1;
    for (const int64_t side : shape) count *= static_cast<size_t>(side);
    const std::vector<float> code = parts_.code.to_floats(), factors = factors_of_blocks();
    std::vector<float> out(count);
    for (size_t i = 0; i < count; ++i) {
      const int pair = std::to_integer<int>(bytes[i / 2]);
      const auto index = static_cast<size_t>(i % 2 == 0 ? pair >> 4 : pair & 15);
      out[i] = rounded_to(parts_.type, code[index] * factors[i / parts_.block]);
    }
    return out;
  }

 private:
  std::vector<float> factors_of_blocks() const {
    if (!parts_.nested) return parts_.factors.to_floats();
    const NestedFactors& nested = *parts_.nested;
    const std::vector<float> code = nested.code.to_floats(), factors = nested.factors.to_floats();
    std::vector<float> out;
    for (size_t i = 0; i < parts_.factors.bytes.size(); ++i) {
      const auto index = std::to_integer<size_t>(parts_.factors.bytes[i]);
      // Exact as double: the product is rounded to float32 before the sum.
      const double product = static_cast<double>(code[index]) * static_cast<double>(factors[i / nested.block]);
      out.push_back(static_cast<float>(product) + nested.offset);
    }
    return out;
  }

  FourBits parts_;
};

class EightBitWeight final : public Encoding {
 public:
  explicit EightBitWeight(CheckpointTensor maxima) : maxima_(std::move(maxima)) {}

  std::vector<float> values(std::span<const std::byte> bytes, const std::vector<int64_t>& shape) const override {
    constexpr float kOne127th = 1 / 127.0f;
    const std::vector<float> maxima = maxima_.to_floats();
    const auto columns = static_cast<size_t>(shape[1]);
    std::vector<float> out(bytes.size());
    for (size_t i = 0; i < out.size(); ++i) {
      const auto integer = static_cast<float>(static_cast<int8_t>(std::to_integer<int>(bytes[i])));
      out[i] = integer * maxima[i / columns] * kOne127th;
    }
    return out;
  }

 private:
  CheckpointTensor maxima_;
};

size_t positive_member(const json& state, const char* name, const std::string& where) {
  constexpr int64_t kMost = 1 << 30;
  const auto found = state.find(name);
  if (found == state.end() || !found->is_number_integer() || *found < 1 || *found > kMost)
    fail("%s: %s is not an integer above 0", where.c_str(), name);
  return found->get<size_t>();
}

ElementType type_of(const json& state, const std::string& where) {
  const auto found = state.find("dtype");
  const std::string name = found != state.end() && found->is_string() ? found->get<std::string>() : "";
  if (name == "float32") return ElementType::F32;
  if (name == "float16") return ElementType::F16;
  if (name == "bfloat16") return ElementType::BF16;
  fail("%s: dtype is %s, expected float32, float16 or bfloat16", where.c_str(), in_quotes(name).c_str());
}

std::vector<int64_t> shape_of(const json& state, const std::string& where, size_t* count) {
  constexpr size_t kMaxRank = 8, kMost = size_t{1} << 40;
  std::vector<int64_t> out;
  *count = 1;
  const auto found = state.find("shape");
  if (found != state.end() && found->is_array() && found->size() <= kMaxRank)
    for (const json& side : *found)
      if (side.is_number_integer() && side >= 1 && side <= 1 << 30 && *count <= kMost) {
        out.push_back(side.get<int64_t>());
        *count *= side.get<size_t>();
      }
  if (out.empty() || out.size() != found->size() || *count > kMost)
    fail("%s: shape is no list of integers above 0", where.c_str());
  return out;
}

CheckpointTensor code_of(ModuleTensors* reading, const std::string& key, int64_t size, const std::string& of) {
  CheckpointTensor code = reading->take(key, of);
  expect_scales(key, code);
  expect_shape(key, code, {size}, "the values that indices stand for");
  return code;
}

int64_t blocks_of(size_t count, size_t block) { return static_cast<int64_t>((count + block - 1) / block); }

void read_four_bits(ModuleTensors* reading, const std::string& key, const std::string& type) {
  if (type != "nf4" && type != "fp4") unsupported("bitsandbytes with the quant_type '" + type + "'");
  const std::string state_key = key + std::string(kState) + type;
  const CheckpointTensor blob = reading->take(state_key, key), stored = reading->take(key, state_key);
  const json state = parse_json({reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size()}, state_key);
  if (!state.is_object()) fail("%s: expected an object", state_key.c_str());
  size_t count;
  const std::vector<int64_t> shape = shape_of(state, state_key, &count);
  FourBits parts = {.code = code_of(reading, key + ".quant_map", 16, key),
                    .factors = reading->take(key + ".absmax", key),
                    .nested = {},
                    .block = positive_member(state, "blocksize", state_key),
                    .type = type_of(state, state_key)};
  if (stored.bytes.size() != (count + 1) / 2)
    fail("%s has %zu bytes, expected %zu for the shape %s of its quant_state", in_quotes(key).c_str(),
         stored.bytes.size(), (count + 1) / 2, shape_text(shape).c_str());
  const int64_t blocks = blocks_of(count, parts.block);
  expect_shape(key + ".absmax", parts.factors, {blocks}, "one factor for each block");
  if (state.contains("nested_blocksize")) {
    const size_t block = positive_member(state, "nested_blocksize", state_key);
    const auto offset = state.find("nested_offset");
    if (offset == state.end() || !offset->is_number() || !std::isfinite(offset->get<double>()))
      fail("%s: nested_offset is no number", state_key.c_str());
    if (parts.factors.type != ElementType::U8)
      fail("%s is %s, expected U8: its factors are quantised once more", in_quotes(key + ".absmax").c_str(),
           element_name(parts.factors.type));
    const CheckpointTensor factors = reading->take(key + ".nested_absmax", key);
    expect_scales(key + ".nested_absmax", factors);
    expect_shape(key + ".nested_absmax", factors, {blocks_of(static_cast<size_t>(blocks), block)},
                 "one factor for each block of factors");
    parts.nested = NestedFactors{.factors = factors,
                                 .code = code_of(reading, key + ".nested_quant_map", 256, key),
                                 .block = block,
                                 .offset = static_cast<float>(offset->get<double>())};
  } else {
    expect_scales(key + ".absmax", parts.factors);
  }
  reading->add(key, shape, stored.bytes, std::make_shared<FourBitWeight>(std::move(parts)));
}

void read_eight_bits(ModuleTensors* reading, const std::string& module) {
  const std::string key = module + ".weight", maxima_key = module + ".SCB";
  const CheckpointTensor maxima = reading->take(maxima_key, key), stored = reading->take(key, maxima_key);
  if (reading->find(module + ".weight_format")) {
    const std::vector<double> format = reading->take(module + ".weight_format", key).to_doubles();
    if (format.size() != 1 || format[0] != 0)
      unsupported("bitsandbytes with a weight_format other than row-major (" + module + ")");
  }
  if (stored.type != ElementType::I8)
    fail("%s is %s, but has the scales %s: expected I8", in_quotes(key).c_str(), element_name(stored.type),
         in_quotes(maxima_key).c_str());
  expect_matrix(key, stored);
  expect_scales(maxima_key, maxima);
  expect_shape(maxima_key, maxima, {stored.shape[0]}, "one maximum for each row");
  reading->add(key, stored.shape, stored.bytes, std::make_shared<EightBitWeight>(maxima));
}

}  // namespace

void read_bitsandbytes(ModuleTensors* reading) {
  std::vector<std::pair<std::string, std::string>> states;
  for (const auto& [key, tensor] : reading->tensors)
    if (const size_t at = key.find(kState); at != key.npos)
      states.emplace_back(key.substr(0, at), key.substr(at + kState.size()));
  for (const auto& [key, type] : states) read_four_bits(reading, key, type);
  for (const std::string& module : reading->modules(".SCB")) read_eight_bits(reading, module);
  for (const auto& [key, tensor] : reading->tensors)
    if (!tensor.encoding && (tensor.type == ElementType::U8 || tensor.type == ElementType::I8) &&
        key.ends_with(".weight"))
      fail("%s is %s, but the checkpoint has neither its quant_state nor its SCB", in_quotes(key).c_str(),
           element_name(tensor.type));
}

}  // namespace ferry::quantized
