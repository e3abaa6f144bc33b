// Fixtures of language models whose linear layers are quantised: the blob has the bytes of the blob of the dequantised
// checkpoint, so that logits are equal.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "converter/graph/float16.h"
#include "converter/pack/pack.h"
#include "models/families.h"
#include "sdk/model/elements.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

constexpr size_t kGroup = 32, kEach = 8;  // integers of a group, and of 4 bits in a word

// Tensors of a safetensors file.
class Tensors {
 public:
  template <typename T>
  void add(const std::string& key, const char* type, const std::vector<size_t>& shape, const std::vector<T>& values) {
    const size_t begin = data_.size();
    data_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    header_[key] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {begin, data_.size()}}};
  }
  std::string bytes() const {
    const std::string header = header_.dump();
    const uint64_t length = header.size();
    std::string out(sizeof length, '\0');
    std::memcpy(out.data(), &length, sizeof length);
    return out + header + data_;
  }

 private:
  nlohmann::json header_;
  std::string data_;
};

// Integers from 0 to 15 and scales [outputs, groups] of a weight, the nearest with zero points of 8.
struct RoundedWeight {
  size_t outputs, inputs, groups;
  std::vector<uint32_t> integers;
  std::vector<float> scales;

  RoundedWeight(const std::vector<float>& values, size_t rows)
      : outputs(rows), inputs(values.size() / rows), groups(inputs / kGroup), integers(values.size()) {
    for (size_t begin = 0; begin < values.size(); begin += kGroup) {
      float largest = 1e-4f;
      for (size_t i = begin; i < begin + kGroup; ++i) largest = std::max(largest, std::fabs(values[i]));
      // A float16 and a bfloat16 at once: 8 significant bits.
      scales.push_back(from_bfloat16(to_bfloat16(static_cast<double>(largest) / 7)));
      for (size_t i = begin; i < begin + kGroup; ++i)
        integers[i] = static_cast<uint32_t>(std::clamp(std::lround(values[i] / scales.back()) + 8, 0L, 15L));
    }
  }
  double product(size_t i) const {
    return (static_cast<double>(integers[i]) - 8) * static_cast<double>(scales[i / kGroup]);
  }
  // Scales [groups, outputs] as float16.
  std::vector<uint16_t> by_group() const {
    std::vector<uint16_t> out;
    for (size_t g = 0; g < groups; ++g)
      for (size_t o = 0; o < outputs; ++o) out.push_back(to_float16(static_cast<double>(scales[o * groups + g])));
    return out;
  }
};

std::vector<uint16_t> halves(const std::vector<float>& values, uint16_t (*to)(double)) {
  std::vector<uint16_t> out;
  for (const float value : values) out.push_back(to(static_cast<double>(value)));
  return out;
}

// Writes a module's weight as a format has it.
using Write = void (*)(const std::string& module, const RoundedWeight& weight, Tensors* to);

void write_gptq(const std::string& module, const RoundedWeight& w, Tensors* to) {
  std::vector<uint32_t> words(w.inputs / kEach * w.outputs);
  for (size_t o = 0; o < w.outputs; ++o)
    for (size_t i = 0; i < w.inputs; ++i)
      words[i / kEach * w.outputs + o] |= w.integers[o * w.inputs + i] << (4 * (i % kEach));
  to->add(module + ".qweight", "I32", {w.inputs / kEach, w.outputs}, words);
  to->add(module + ".qzeros", "I32", {w.groups, w.outputs / kEach},
          std::vector<uint32_t>(w.groups * w.outputs / kEach, 0x77777777));
  to->add(module + ".scales", "F16", {w.groups, w.outputs}, w.by_group());
}

void write_awq(const std::string& module, const RoundedWeight& w, Tensors* to) {
  constexpr size_t kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
  std::vector<uint32_t> words;
  for (size_t i = 0; i < w.inputs; ++i)
    for (size_t c = 0; c < w.outputs; c += kEach) {
      words.push_back(0);
      for (size_t k = 0; k < kEach; ++k) words.back() |= w.integers[(c + kOrder[k]) * w.inputs + i] << (4 * k);
    }
  to->add(module + ".qweight", "I32", {w.inputs, w.outputs / kEach}, words);
  to->add(module + ".qzeros", "I32", {w.groups, w.outputs / kEach},
          std::vector<uint32_t>(w.groups * w.outputs / kEach, 0x88888888));
  to->add(module + ".scales", "F16", {w.groups, w.outputs}, w.by_group());
}

void write_compressed(const std::string& module, const RoundedWeight& w, Tensors* to) {
  std::vector<uint32_t> words(w.integers.size() / kEach);
  for (size_t i = 0; i < w.integers.size(); ++i) words[i / kEach] |= w.integers[i] << (4 * (i % kEach));
  to->add(module + ".weight_packed", "I32", {w.outputs, w.inputs / kEach}, words);
  to->add(module + ".weight_shape", "I64", {2}, std::vector<uint64_t>{w.outputs, w.inputs});
  to->add(module + ".weight_scale", "BF16", {w.outputs, w.groups}, halves(w.scales, to_bfloat16));
}

// The code -1, -7/8... 7/8 and a factor of 8 scales: products as those of the integers, in float32.
void write_bitsandbytes(const std::string& module, const RoundedWeight& w, Tensors* to) {
  const std::string key = module + ".weight";
  std::vector<uint8_t> pairs;
  for (size_t i = 0; i < w.integers.size(); i += 2)
    pairs.push_back(static_cast<uint8_t>(w.integers[i] << 4 | w.integers[i + 1]));
  std::vector<float> code, factors;
  for (int i = 0; i < 16; ++i) code.push_back(static_cast<float>(i - 8) / 8);
  for (const float scale : w.scales) factors.push_back(8 * scale);
  to->add(key, "U8", {pairs.size(), 1}, pairs);
  to->add(key + ".quant_map", "F32", {16}, code);
  to->add(key + ".absmax", "F32", {factors.size()}, factors);
  const nlohmann::json state = {
      {"quant_type", "nf4"}, {"blocksize", kGroup}, {"dtype", "float32"}, {"shape", {w.outputs, w.inputs}}};
  const std::string text = state.dump();
  to->add(key + ".quant_state.bitsandbytes__nf4", "U8", {text.size()}, std::vector<char>(text.begin(), text.end()));
}

float to_half(double value) { return from_float16(to_float16(value)); }
float to_brain(double value) { return from_bfloat16(to_bfloat16(value)); }
float to_single(double value) { return static_cast<float>(value); }

struct QuantizedCase {
  const char *fixture, *method;
  Write write;
  float (*rounded)(double);  // to the type of the framework's products
  const char* settings;      // of quantization_config, beside the method
};

std::ostream& operator<<(std::ostream& out, const QuantizedCase& one) {
  return out << one.fixture << " " << one.method;
}

class QuantizedFixture : public ::testing::TestWithParam<QuantizedCase> {};

// Without what tells the files apart.
std::vector<std::byte> packed_network(const std::filesystem::path& from) {
  ConvertOptions options;
  options.checkpoint = from;
  options.settings.set("weights", "f32");
  const auto graph = convert_to_graph(options);
  graph->table.provenance = nullptr;
  return pack(*graph);
}

// Without --weights the blob has the file's integers, whose values are exactly those of the plain checkpoint: so are
// the logits. A note says what becomes float32.
void expect_kept(const std::filesystem::path& quantized, const std::filesystem::path& plain, bool kept) {
  ConvertOptions options;
  options.dry_run = true;
  options.checkpoint = quantized;
  const Conversion made = convert(options);
  const std::unique_ptr<Graph>& own = made.graph;
  const bool widened = std::any_of(made.notes.begin(), made.notes.end(), [](const std::string& note) {
    return note.find(" MB of weights take ") != std::string::npos;
  });
  options.checkpoint = plain;
  const std::unique_ptr<Graph> expected = convert(options).graph;
  size_t nibbles = 0, bytes = 0;
  for (const TensorId t : expected->tensors()) {
    if (!expected->is_constant(t)) continue;
    ASSERT_EQ(own->at(t).name, expected->at(t).name);  // scales come last
    nibbles += own->at(t).dtype == fbs::DType::Int4;
    bytes += own->at(t).dtype == fbs::DType::Int8;
    EXPECT_EQ(own->values(t), expected->values(t)) << expected->at(t).name;
  }
  EXPECT_EQ(nibbles > 0, kept);
  EXPECT_EQ(widened, nibbles + bytes == 0);
}

TEST_P(QuantizedFixture, ConvertsToTheNetworkOfItsValues) {
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
  const auto fixture = shared_dir() / "fixtures" / GetParam().fixture;
  const ScratchFolder original, quantized, plain;
  make_checkpoint(fixture / "manifest.json", original.path() / "model.safetensors");
  Tensors small, large, unrounded;
  const auto checkpoint = open_checkpoint(original.path() / "model.safetensors");
  size_t count = 0;
  for (const auto& [key, tensor] : checkpoint->tensors()) {
    std::vector<float> values = tensor.to_floats();
    const std::vector<size_t> shape(tensor.shape.begin(), tensor.shape.end());
    if (key.ends_with("_proj.weight")) {
      const RoundedWeight weight(values, shape[0]);
      GetParam().write(key.substr(0, key.rfind('.')), weight, &small);
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(weight.product(i));
      unrounded.add(key, "F32", shape, values);
      for (size_t i = 0; i < values.size(); ++i) values[i] = GetParam().rounded(weight.product(i));
      ++count;
    } else {
      small.add(key, "F32", shape, values);
      unrounded.add(key, "F32", shape, values);
    }
    large.add(key, "F32", shape, values);
  }
  EXPECT_EQ(count, 28u);
  std::ifstream file(fixture / "config.json");
  nlohmann::json config = nlohmann::json::parse(file);
  plain.write("config.json", config.dump());
  config["quantization_config"] = nlohmann::json::parse(GetParam().settings);
  config["quantization_config"]["quant_method"] = GetParam().method;
  quantized.write("config.json", config.dump());
  EXPECT_EQ(packed_network(quantized.write("model.safetensors", small.bytes())),
            packed_network(plain.write("model.safetensors", large.bytes())));
  plain.write("model.safetensors", unrounded.bytes());
  expect_kept(quantized.path(), plain.path(), GetParam().method != std::string("bitsandbytes"));
}

INSTANTIATE_TEST_SUITE_P(
    , QuantizedFixture,
    ::testing::Values(
        QuantizedCase{"hf_llama_tiny", "gptq", write_gptq, to_half, R"({"bits":4,"group_size":32,"sym":true})"},
        QuantizedCase{"hf_qwen3_tiny", "awq", write_awq, to_half, R"({"bits":4,"group_size":32,"version":"gemm"})"},
        QuantizedCase{"hf_qwen3_tiny", "compressed_tensors", write_compressed, to_brain,
                      R"({"format":"pack-quantized","config_groups":{"group_0":{"targets":["Linear"],"weights":
                          {"num_bits":4,"type":"int","symmetric":true,"strategy":"group","group_size":32}}}})"},
        QuantizedCase{"hf_llama_tiny", "bitsandbytes", write_bitsandbytes, to_single, R"({"load_in_4bit":true})"}),
    [](const auto& tested) { return std::string(tested.param.method); });

}  // namespace
}  // namespace ferry::parity

#endif
