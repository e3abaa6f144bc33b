// GPTQ, AWQ, compressed-tensors and bitsandbytes: tensors packed here as their tools pack them, and values by the
// formula of each format.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>

#include "converter/checkpoint/quantized.h"
#include "converter/checkpoint/quantized/name_pattern.h"
#include "converter/error.h"
#include "converter/graph/float16.h"
#include "sdk/model/elements.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

using nlohmann::json;
using Words = std::vector<uint32_t>;

constexpr size_t kOut = 32, kIn = 256;

// Any integers from 0 to limit - 1.
size_t drawn(size_t i, size_t j, size_t limit) {
  return (i * 7919 + j * 104729 + i * j * 31 + (i ^ j)) % 65537 % limit;
}

template <typename T>
std::vector<uint8_t> raw(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  std::vector<uint8_t> out;
  for (const std::byte byte : bytes) out.push_back(static_cast<uint8_t>(byte));
  return out;
}

struct Checkpoint16 : MemoryCheckpoint {
  void put(const std::string& key, const std::vector<int64_t>& shape, ElementType type, std::vector<uint8_t> bytes) {
    add(key, shape, std::move(bytes));
    set_type(key, type);
  }
  void words(const std::string& key, const std::vector<int64_t>& shape, const Words& values) {
    put(key, shape, ElementType::I32, raw(values));
  }
  // Rounded to F16 or BF16; `values` become what is stored.
  void halves(const std::string& key, const std::vector<int64_t>& shape, ElementType type,
              std::vector<double>* values) {
    std::vector<uint16_t> stored;
    for (double& value : *values) {
      stored.push_back(type == ElementType::F16 ? to_float16(value) : to_bfloat16(value));
      value =
          static_cast<double>(type == ElementType::F16 ? from_float16(stored.back()) : from_bfloat16(stored.back()));
    }
    put(key, shape, type, raw(stored));
  }
};

float half(double value) { return from_float16(to_float16(value)); }
float brain(double value) { return from_bfloat16(to_bfloat16(value)); }

std::vector<double> some_scales(size_t count) {
  std::vector<double> out;
  for (size_t i = 0; i < count; ++i) out.push_back(0.001 * static_cast<double>(1 + drawn(i, 3, 97)) + 1e-5);
  return out;
}

json configured(const json& quantization) { return {{"quantization_config", quantization}}; }

void expect_values(const std::shared_ptr<const Checkpoint>& read, const std::function<float(size_t, size_t)>& expected,
                   size_t outputs = kOut, size_t inputs = kIn) {
  const CheckpointTensor& weight = read->tensors().at("m.weight");
  ASSERT_EQ(weight.shape, (std::vector<int64_t>{static_cast<int64_t>(outputs), static_cast<int64_t>(inputs)}));
  const std::vector<float> values = weight.to_floats();
  for (size_t o = 0; o < outputs; ++o)
    for (size_t i = 0; i < inputs; ++i) ASSERT_EQ(values[o * inputs + i], expected(o, i)) << o << " " << i;
}

// 32 integers in words. Of 3 bits, ten lie in each word; the eleventh and the twenty-second in two.
Words packed_32(const std::array<uint32_t, 32>& v, int bits) {
  if (bits != 3) {
    Words out(static_cast<size_t>(bits));
    const size_t each = static_cast<size_t>(32 / bits);
    for (size_t i = 0; i < 32; ++i) out[i / each] |= v[i] << (i % each * static_cast<size_t>(bits));
    return out;
  }
  Words out(3);
  for (size_t i = 0; i < 10; ++i) out[0] |= v[i] << (3 * i);
  out[0] |= v[10] << 30;
  out[1] |= v[10] >> 2 & 1;
  for (size_t i = 0; i < 10; ++i) out[1] |= v[11 + i] << (3 * i + 1);
  out[1] |= v[21] << 31;
  out[2] |= v[21] >> 1 & 3;
  for (size_t i = 0; i < 10; ++i) out[2] |= v[22 + i] << (3 * i + 2);
  return out;
}

struct GptqCase {
  int bits;
  int64_t group;
  bool act_order, v2;
};

// A GPTQ checkpoint of module m, and the parts of its values.
struct Gptq {
  std::shared_ptr<Checkpoint16> file = std::make_shared<Checkpoint16>();
  size_t groups;
  std::vector<double> scales;
  std::vector<int32_t> index;
  std::function<uint32_t(size_t, size_t)> integer, zero;

  explicit Gptq(const GptqCase& c) {
    const size_t limit = size_t{1} << c.bits, group = c.group < 0 ? kIn : static_cast<size_t>(c.group);
    groups = kIn / group;
    integer = [limit](size_t o, size_t i) { return static_cast<uint32_t>(drawn(o, i, limit)); };
    zero = [limit](size_t g, size_t o) { return static_cast<uint32_t>(drawn(g + 5, o, limit)); };
    const auto bits = static_cast<size_t>(c.bits);
    Words weights(kIn / 32 * bits * kOut), zeros;
    for (size_t o = 0; o < kOut; ++o)
      for (size_t block = 0; block < kIn / 32; ++block) {
        std::array<uint32_t, 32> v;
        for (size_t i = 0; i < 32; ++i) v[i] = integer(o, block * 32 + i);
        const Words words = packed_32(v, c.bits);
        for (size_t w = 0; w < bits; ++w) weights[(block * bits + w) * kOut + o] = words[w];
      }
    for (size_t g = 0; g < groups; ++g) {
      std::array<uint32_t, 32> v;
      for (size_t o = 0; o < kOut; ++o) v[o] = static_cast<uint32_t>((zero(g, o) + limit - (c.v2 ? 0 : 1)) % limit);
      const Words words = packed_32(v, c.bits);
      zeros.insert(zeros.end(), words.begin(), words.end());
    }
    for (size_t i = 0; i < kIn; ++i) index.push_back(static_cast<int32_t>((c.act_order ? i * 37 % kIn : i) / group));
    const auto b = static_cast<int64_t>(bits), rows = static_cast<int64_t>(kIn) / 32 * b;
    file->words("m.qweight", {rows, kOut}, weights);
    file->words("m.qzeros", {static_cast<int64_t>(groups), b}, zeros);
    scales = some_scales(groups * kOut);
    file->halves("m.scales", {static_cast<int64_t>(groups), kOut}, ElementType::F16, &scales);
    file->put("m.g_idx", {kIn}, ElementType::I32, raw(index));
    file->add("m.bias", {kOut});
    file->add("plain.weight", {3, 4});
  }

  // scale * (integer - zero) in float16.
  float value(size_t o, size_t i) const {
    const auto g = static_cast<size_t>(index[i]);
    return half(scales[g * kOut + o] * (static_cast<double>(integer(o, i)) - static_cast<double>(zero(g, o))));
  }
};

json gptq_config(const GptqCase& c) {
  return {{"quant_method", "gptq"},  {"bits", c.bits}, {"group_size", c.group},
          {"desc_act", c.act_order}, {"sym", false},   {"checkpoint_format", c.v2 ? "gptq_v2" : "gptq"}};
}

TEST(QuantizedIntegers, GptqHasTheValuesThatItsKernelsMultiply) {
  for (const int bits : {2, 3, 4, 8})
    for (const int64_t group : {32, 64, 128, -1})
      for (const bool flag : {false, true}) {
        const GptqCase c = {bits, group, flag, !flag};
        const Gptq gptq(c);
        const auto read = dequantized(gptq.file, configured(gptq_config(c)));
        expect_values(read, [&](size_t o, size_t i) { return gptq.value(o, i); });
        EXPECT_EQ(read->tensors().size(), 3u) << "weight, bias, the plain one";
        EXPECT_EQ(read->tensors().at("plain.weight").to_floats(), gptq.file->tensors().at("plain.weight").to_floats());
      }
}

TEST(QuantizedIntegers, GptqHasSettingsPerModule) {
  const Gptq gptq({8, 32, false, true});
  json config = gptq_config({4, 128, false, true});
  config["dynamic"] = {{"-:n.*", json::object()}, {"+:m$", {{"bits", 8}, {"group_size", 32}}}};
  expect_values(dequantized(gptq.file, configured(config)), [&](size_t o, size_t i) { return gptq.value(o, i); });
}

// What std::regex follows one alternative after the other takes 2^n steps.
TEST(QuantizedIntegers, ExpressionsForNamesAreBounded) {
  const auto refusal = [](const std::string& expression) -> std::string {
    const Gptq gptq({4, 64, false, true});
    json config = gptq_config({4, 64, false, true});
    config["dynamic"] = {{expression, json::object()}};
    try {
      dequantized(gptq.file, configured(config));
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(refusal(std::string(1001, 'a')).find("which is too large"), std::string::npos);
  EXPECT_NE(refusal("(((a{99}){99}){99}){99}").find("which is too large"), std::string::npos);
  EXPECT_NE(refusal("(a").find("which is no regular expression"), std::string::npos);
  EXPECT_NE(refusal("(a)\\1").find("which is no regular expression"), std::string::npos);
  uint64_t work = 0;
  const std::string name(500, 'm');
  for (const char* expression : {"(m+)+$x", "(m|m)*x", "(m*)*(m*)*(m*)*x", "((m?m?)+)+x", "(?=(m*)*x)m"})
    EXPECT_FALSE(quantized::NamePattern(expression, "a test").begins(name, &work)) << expression;
  EXPECT_TRUE(
      quantized::NamePattern(R"(model\.layers\.(\d+)\.(?!mlp))", "a test").begins("model.layers.10.self_attn", &work));
  EXPECT_THROW(
      {
        const quantized::NamePattern pattern("((m{99}){50})?", "a test");
        for (int i = 0; i < 1000; ++i) pattern.begins(name, &work);
      },
      Error);
}

TEST(QuantizedIntegers, SymmetricGptqIsReadByItsZeroPoints) {
  for (const bool said_v2 : {false, true}) {
    const Gptq gptq({4, 64, false, said_v2});
    json config = gptq_config({4, 64, false, said_v2});
    config["sym"] = true;
    // All zero points as the other format has 8.
    gptq.file->words("m.qzeros", {4, 4}, Words(16, said_v2 ? 0x77777777 : 0x88888888));
    const auto read = dequantized(gptq.file, configured(config));
    expect_values(read, [&](size_t o, size_t i) {
      const auto g = static_cast<size_t>(gptq.index[i]);
      return half(gptq.scales[g * kOut + o] * (static_cast<double>(gptq.integer(o, i)) - 8));
    });
    EXPECT_EQ(read->notes().size(), 2u);
  }
}

TEST(QuantizedIntegers, AwqHasTheOrderOfItsGemmKernel) {
  constexpr std::array<size_t, 8> kOrder = {0, 2, 4, 6, 1, 3, 5, 7};  // nibble k holds output 8 c + kOrder[k]
  for (const int64_t group : {32, 64, 128, -1}) {
    const auto file = std::make_shared<Checkpoint16>();
    const size_t size = group < 0 ? kIn : static_cast<size_t>(group), groups = kIn / size;
    const auto packed = [&](size_t rows, size_t salt) {
      Words out;
      for (size_t row = 0; row < rows; ++row)
        for (size_t c = 0; c < kOut / 8; ++c) {
          uint32_t word = 0;
          for (size_t k = 0; k < 8; ++k)
            word |= static_cast<uint32_t>(drawn(row + salt, 8 * c + kOrder[k], 16)) << (4 * k);
          out.push_back(word);
        }
      return out;
    };
    file->words("m.qweight", {kIn, kOut / 8}, packed(kIn, 0));
    file->words("m.qzeros", {static_cast<int64_t>(groups), kOut / 8}, packed(groups, 900));
    std::vector<double> scales = some_scales(groups * kOut);
    file->halves("m.scales", {static_cast<int64_t>(groups), kOut}, ElementType::F16, &scales);
    const json config = {{"quant_method", "awq"}, {"bits", 4},          {"group_size", group},
                         {"version", "gemm"},     {"zero_point", true}, {"modules_to_not_convert", {"lm_head"}}};
    expect_values(dequantized(file, configured(config)), [&](size_t o, size_t i) {
      const auto integer = static_cast<double>(drawn(i, o, 16)),
                 zero = static_cast<double>(drawn(i / size + 900, o, 16));
      return half(scales[i / size * kOut + o] * (integer - zero));
    });
  }
}

// Signed integers of `bits` bits, plus 2^(bits - 1), 32 / bits in a word along the rows.
Words packed_rows(size_t rows, size_t columns, size_t bits, const std::function<int(size_t, size_t)>& integer) {
  const size_t each = 32 / bits, words = (columns + each - 1) / each;
  Words out(rows * words);
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c)
      out[r * words + c / each] |= static_cast<uint32_t>(integer(r, c) + (1 << (bits - 1))) << (c % each * bits);
  return out;
}

json compressed_config(const char* format, int bits, int64_t group, bool symmetric) {
  json weights = {
      {"num_bits", bits}, {"type", "int"}, {"symmetric", symmetric}, {"strategy", group > 0 ? "group" : "channel"}};
  weights["group_size"] = group > 0 ? json(group) : json(nullptr);
  return {{"quant_method", "compressed-tensors"},
          {"format", format},
          {"ignore", {"lm_head"}},
          {"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", weights}}}}}};
}

TEST(QuantizedIntegers, CompressedTensorsArePackedAlongTheInputs) {
  for (const size_t bits : {3, 4, 8})
    for (const int64_t group : {32, 128, 0})
      for (const bool symmetric : {false, true}) {
        const auto file = std::make_shared<Checkpoint16>();
        const int low = -(1 << (bits - 1));
        const size_t size = group > 0 ? static_cast<size_t>(group) : kIn, groups = kIn / size,
                     limit = size_t{1} << bits;
        const auto integer = [&](size_t o, size_t i) { return low + static_cast<int>(drawn(o, i, limit)); };
        const auto zero = [&](size_t o, size_t g) {
          return symmetric ? 0 : low + static_cast<int>(drawn(o, g + 77, limit));
        };
        const Words words = packed_rows(kOut, kIn, bits, integer);
        file->words("m.weight_packed", {kOut, static_cast<int64_t>(words.size() / kOut)}, words);
        file->put("m.weight_shape", {2}, ElementType::I64, raw(std::vector<int64_t>{kOut, kIn}));
        std::vector<double> scales = some_scales(kOut * groups);
        file->halves("m.weight_scale", {kOut, static_cast<int64_t>(groups)}, ElementType::BF16, &scales);
        if (!symmetric) {
          // Packed along the outputs: the transpose of rows of groups.
          const Words rows = packed_rows(groups, kOut, bits, [&](size_t g, size_t o) { return zero(o, g); });
          const size_t count = rows.size() / groups;
          Words columns;
          for (size_t w = 0; w < count; ++w)
            for (size_t g = 0; g < groups; ++g) columns.push_back(rows[g * count + w]);
          file->words("m.weight_zero_point", {static_cast<int64_t>(count), static_cast<int64_t>(groups)}, columns);
        }
        const json config = compressed_config("pack-quantized", static_cast<int>(bits), group, symmetric);
        expect_values(dequantized(file, configured(config)), [&](size_t o, size_t i) {
          const size_t g = i / size;
          return brain(scales[o * groups + g] * (integer(o, i) - zero(o, g)));
        });
      }
}

TEST(QuantizedIntegers, CompressedTensorsOfInt8HaveScalesOfATensorChannelOrGroup) {
  const auto integer = [](size_t o, size_t i) { return static_cast<int>(drawn(o, i, 256)) - 128; };
  std::vector<int8_t> integers;
  for (size_t o = 0; o < kOut; ++o)
    for (size_t i = 0; i < kIn; ++i) integers.push_back(static_cast<int8_t>(integer(o, i)));
  for (const size_t groups : {size_t{0}, size_t{1}, kIn / 64})  // 0: one scale for all
    for (const bool symmetric : {false, true}) {
      const auto file = std::make_shared<Checkpoint16>();
      file->put("m.weight", {kOut, kIn}, ElementType::I8, raw(integers));
      const size_t count = groups == 0 ? 1 : kOut * groups;
      const std::vector<int64_t> shape =
          groups == 0 ? std::vector<int64_t>{1} : std::vector<int64_t>{kOut, static_cast<int64_t>(groups)};
      std::vector<float> scales;
      for (const double scale : some_scales(count)) scales.push_back(static_cast<float>(scale));
      file->add("m.weight_scale", shape, scales);
      std::vector<int8_t> zeros;
      for (size_t i = 0; i < count; ++i) zeros.push_back(static_cast<int8_t>(drawn(i, 11, 200)));
      if (!symmetric) file->put("m.weight_zero_point", shape, ElementType::I8, raw(zeros));
      const json config = compressed_config("int-quantized", 8, groups > 1 ? 64 : 0, symmetric);
      expect_values(dequantized(file, configured(config)), [&](size_t o, size_t i) {
        const size_t at = groups == 0 ? 0 : o * groups + i / (kIn / groups);
        return static_cast<float>(integer(o, i) - (symmetric ? 0 : zeros[at])) * scales[at];
      });
    }
}

TEST(QuantizedIntegers, CompressedTensorsHaveASchemeForEachTarget) {
  const auto file = std::make_shared<Checkpoint16>();
  const auto integer = [](size_t o, size_t i) { return static_cast<int>(drawn(o, i, 16)) - 8; };
  file->words("m.weight_packed", {kOut, kIn / 8}, packed_rows(kOut, kIn, 4, integer));
  file->put("m.weight_shape", {2}, ElementType::I64, raw(std::vector<int64_t>{kOut, kIn}));
  std::vector<double> scales = some_scales(kOut * kIn / 32);
  file->halves("m.weight_scale", {kOut, kIn / 32}, ElementType::F16, &scales);
  std::vector<int32_t> index;  // act-order
  for (size_t i = 0; i < kIn; ++i) index.push_back(static_cast<int32_t>(i * 5 % kIn / 32));
  file->put("m.weight_g_idx", {kIn}, ElementType::I32, raw(index));
  json config = compressed_config("mixed-precision", 8, 128, true);
  json other = compressed_config("", 4, 32, true)["config_groups"]["group_0"];
  other["targets"] = {"re:m$"};
  other["format"] = "pack-quantized";
  config["config_groups"]["group_0"]["format"] = "int-quantized";
  config["config_groups"]["group_1"] = other;
  expect_values(dequantized(file, configured(config)), [&](size_t o, size_t i) {
    return half(scales[o * kIn / 32 + static_cast<size_t>(index[i])] * integer(o, i));
  });
}

// A parameter of 5 x 7 in blocks of 8, so that block and byte are incomplete.
struct Bnb {
  std::shared_ptr<Checkpoint16> file = std::make_shared<Checkpoint16>();
  std::vector<float> code, factors;
  static constexpr size_t kRows = 5, kColumns = 7, kBlock = 8, kBlocks = 5;

  Bnb(const std::string& type, bool nested, const char* dtype) {
    for (size_t i = 0; i < 16; ++i) code.push_back(static_cast<float>(i) / 7.3f - 1);
    std::vector<uint8_t> bytes(18);
    for (size_t i = 0; i < kRows * kColumns; ++i)  // the first of two in the upper half
      bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] | index(i) << (i % 2 == 0 ? 4 : 0));
    file->add("m.weight", {18, 1}, bytes);
    file->add("m.weight.quant_map", {16}, code);
    json state = {{"quant_type", type}, {"blocksize", kBlock}, {"dtype", dtype}, {"shape", {kRows, kColumns}}};
    if (nested) {
      std::vector<float> map, outer = {0.25f, 3.1f, 0.7f};
      for (size_t i = 0; i < 256; ++i) map.push_back(static_cast<float>(i) / 191 - 0.6f);
      const std::vector<uint8_t> indices = {7, 255, 0, 130, 99};
      for (size_t b = 0; b < kBlocks; ++b) {
        volatile float product = map[indices[b]] * outer[b / 2];
        factors.push_back(product + 0.123f);
      }
      file->add("m.weight.absmax", {kBlocks}, indices);
      file->add("m.weight.nested_absmax", {3}, outer);
      file->add("m.weight.nested_quant_map", {256}, map);
      state["nested_blocksize"] = 2;
      state["nested_dtype"] = "float32";
      state["nested_offset"] = static_cast<double>(0.123f);
    } else {
      factors = {0.5f, 1.7f, 0.01f, 2, 9};
      file->add("m.weight.absmax", {kBlocks}, factors);
    }
    const std::string text = state.dump();
    file->add("m.weight.quant_state.bitsandbytes__" + type, {static_cast<int64_t>(text.size())},
              std::vector<uint8_t>(text.begin(), text.end()));
  }
  static size_t index(size_t i) { return drawn(i, 13, 16); }
  float value(size_t i) const { return code[index(i)] * factors[i / kBlock]; }
};

TEST(QuantizedIntegers, BitsandbytesHasTheValuesOfItsCode) {
  const json config = {{"quant_method", "bitsandbytes"}, {"load_in_4bit", true}};
  for (const char* type : {"nf4", "fp4"})
    for (const bool nested : {false, true}) {
      const auto at = [](size_t o, size_t i) { return o * Bnb::kColumns + i; };
      const Bnb wide(type, nested, "float32"), narrow(type, nested, "bfloat16");
      expect_values(
          dequantized(wide.file, configured(config)), [&](size_t o, size_t i) { return wide.value(at(o, i)); },
          Bnb::kRows, Bnb::kColumns);
      expect_values(
          dequantized(narrow.file, configured(config)),
          [&](size_t o, size_t i) { return brain(static_cast<double>(narrow.value(at(o, i)))); }, Bnb::kRows,
          Bnb::kColumns);
    }
}

TEST(QuantizedIntegers, BitsandbytesInt8IsScaledByTheMaximumOfEachRow) {
  const auto file = std::make_shared<Checkpoint16>();
  file->put("m.weight", {2, 3}, ElementType::I8, raw(std::vector<int8_t>{127, -127, 5, 0, 64, -128}));
  file->add("m.SCB", {2}, std::vector<float>{2, 0.3f});
  file->add("m.weight_format", {}, std::vector<uint8_t>{0});
  file->add("lm_head.weight", {4, 3});
  const auto read = dequantized(file, configured({{"load_in_8bit", true}, {"llm_int8_skip_modules", {"lm_head"}}}));
  const std::vector<float> values = read->tensors().at("m.weight").to_floats();
  const double expected[] = {2, -2, 10.0 / 127, 0, 64 * 0.3 / 127, -128 * 0.3 / 127};
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6);
  EXPECT_EQ(read->tensors().size(), 2u);
}

TEST(QuantizedIntegers, DamagedTensorsAreRefused) {
  const GptqCase c = {4, 64, true, false};
  const auto gptq = [&](const std::function<void(Checkpoint16&)>& damage) {
    const Gptq made(c);
    damage(*made.file);
    return complaint([&] { dequantized(made.file, configured(gptq_config(c))); });
  };
  const auto has = [](const std::string& said, const char* part) {
    EXPECT_NE(said.find(part), std::string::npos) << said;
  };
  EXPECT_EQ(gptq([](Checkpoint16&) {}), "no error");
  has(gptq([](Checkpoint16& f) {
        f.words("m.qweight", {31, kOut}, Words(31 * kOut));
      }),
      "\"m.qweight\" has shape [31,32], expected [32,32]");
  has(gptq([](Checkpoint16& f) { f.remove("m.qzeros"); }), "no \"m.qzeros\"");
  has(gptq([](Checkpoint16& f) {
        f.add("m.qweight", {32, kOut}, std::vector<float>(32 * kOut));
      }),
      "is F32, expected I32");
  has(gptq([](Checkpoint16& f) { f.put("m.g_idx", {kIn}, ElementType::I32, raw(std::vector<int32_t>(kIn, 4))); }),
      "\"m.g_idx\" puts input 0 in group 4, but there are 4 groups");
  has(gptq([](Checkpoint16& f) { f.put("m.g_idx", {kIn}, ElementType::I32, raw(std::vector<int32_t>(kIn, -1))); }),
      "in group -1");
  has(gptq([](Checkpoint16& f) {
        f.add("m.scales", {kOut, 4}, std::vector<float>(kOut * 4));
      }),
      "\"m.scales\" has shape [32,4], expected [4,32]");
  has(gptq([](Checkpoint16& f) { f.add("m.scales", {0, kOut}, std::vector<float>()); }), "expected [4,32]");
  has(gptq([](Checkpoint16& f) {
        f.add("m.scales", {4, kOut}, std::vector<float>(kOut * 4, NAN));
      }),
      "a scale that is not finite");
  has(gptq([](Checkpoint16& f) { f.words("m.qweight", {0, kOut}, {}); }), "expected two dimensions above 0");
  has(gptq([](Checkpoint16& f) { f.add("m.weight", {1, 1}); }), "both plain and quantised");

  const auto bnb = [&](const std::function<void(Checkpoint16&)>& damage) {
    const Bnb made("nf4", true, "float16");
    damage(*made.file);
    return complaint([&] { dequantized(made.file, configured({{"quant_method", "bitsandbytes"}})); });
  };
  EXPECT_EQ(bnb([](Checkpoint16&) {}), "no error");
  has(bnb([](Checkpoint16& f) { f.add("m.weight", {17, 1}, std::vector<uint8_t>(17)); }), "has 17 bytes, expected 18");
  has(bnb([](Checkpoint16& f) { f.add("m.weight.absmax", {4}, std::vector<uint8_t>(4)); }), "expected [5]");
  has(bnb([](Checkpoint16& f) { f.remove("m.weight.nested_absmax"); }), "no \"m.weight.nested_absmax\"");
  has(bnb([](Checkpoint16& f) { f.remove("m.weight.quant_state.bitsandbytes__nf4"); }), "neither its quant_state");
  for (const char* state :
       {"", "[]", "{}", R"({"shape":[5,-7],"blocksize":8,"dtype":"float16"})",
        R"({"shape":[5,7],"blocksize":0,"dtype":"float16"})", R"({"shape":[5,7],"blocksize":8,"dtype":"int8"})"}) {
    const std::string text = state;
    EXPECT_NE(bnb([&](Checkpoint16& f) {
                f.add("m.weight.quant_state.bitsandbytes__nf4", {static_cast<int64_t>(text.size())},
                      std::vector<uint8_t>(text.begin(), text.end()));
              }),
              "no error")
        << state;
  }
}

TEST(QuantizedIntegers, VariationsThatAreNotReadAreRefusedByName) {
  const auto refused = [](const json& config) {
    const std::string said = complaint([&] { dequantized(std::make_shared<Checkpoint16>(), configured(config)); });
    const std::string begin = "config.json: quantization_config: ";
    return said.starts_with(begin) ? said.substr(begin.size(), said.find(" is not supported") - begin.size()) : said;
  };
  EXPECT_EQ(refused({{"quant_method", "hqq"}}), "the quant_method 'hqq'");
  EXPECT_EQ(refused({{"quant_method", "gptq"}, {"bits", 5}}), "gptq with 5 bits");
  EXPECT_EQ(refused({{"quant_method", "gptq"}, {"bits", 4}, {"checkpoint_format", "marlin"}}),
            "the checkpoint_format 'marlin' of gptq");
  EXPECT_EQ(refused({{"quant_method", "awq"}, {"bits", 4}, {"version", "gemv"}}), "the version 'gemv' of awq");
  EXPECT_EQ(refused({{"quant_method", "awq"}, {"bits", 3}}), "awq with 3 bits");
  EXPECT_EQ(refused({{"quant_method", "compressed-tensors"}, {"format", "nvfp4-pack-quantized"}}),
            "the format 'nvfp4-pack-quantized' of compressed-tensors");
  EXPECT_NE(complaint([] {
              const Gptq gptq({4, 64, false, false});
              dequantized(gptq.file, json());
            }).find("'m.qweight' is part of a quantised weight"),
            std::string::npos);
}

}  // namespace
}  // namespace ferry
