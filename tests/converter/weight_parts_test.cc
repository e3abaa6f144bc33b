// Weights are computed part by part as they are written: every part must be that of the whole, however the checkpoint
// stores it.
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/quantized.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

const Naming kNoNaming = {};

std::vector<std::byte> whole_of(const Constant& constant) {
  const Constant read = constant.read();
  return {read.bytes.begin(), read.bytes.end()};
}

std::vector<std::byte> joined(const Constant& constant, size_t step) {
  std::vector<std::byte> all;
  for (size_t begin = 0; begin < constant.byte_count(); begin += step) {
    const Constant part = constant.read_part(begin, std::min(step, constant.byte_count() - begin));
    all.insert(all.end(), part.bytes.begin(), part.bytes.end());
  }
  return all;
}

// All tensors, as stored and, if they are kernels, in the graph's order.
void expect_parts(const std::shared_ptr<const Checkpoint>& checkpoint) {
  for (const auto& [key, tensor] : checkpoint->tensors())
    for (const bool kernel : {false, true}) {
      if (kernel && tensor.shape.size() != 4) continue;
      Graph graph;
      Ledger ledger(checkpoint, kNoNaming);
      const Weights weights(graph, ledger);
      const Tensor read = kernel ? weights["m"].kernel({0, 0, 0, 0}) : weights[key].parameter({});
      const Constant constant = graph.source(read.id);
      const std::vector<std::byte> whole = whole_of(constant);
      ASSERT_FALSE(whole.empty()) << key;
      for (const size_t step : {size_t{52}, std::max<size_t>(constant.part_unit, 256), 3 * constant.part_unit + 256})
        EXPECT_EQ(joined(constant, step), whole) << key << ", parts of " << step << " bytes";
    }
}

TEST(WeightParts, OfPlainTensors) {
  auto checkpoint = std::make_shared<MemoryCheckpoint>();
  checkpoint->add("scalar", {1});
  checkpoint->add("vector", {13});
  checkpoint->add("matrix", {7, 9});
  checkpoint->add("m.weight", {6, 4, 3, 2});
  checkpoint->add("doubles", {6, 5}, std::vector<double>(30, 1e-300));
  expect_parts(checkpoint);
}

TEST(WeightParts, OfTensorsWithScales) {
  auto checkpoint = std::make_shared<MemoryCheckpoint>();
  std::vector<uint8_t> codes;
  for (int i = 0; i < 70; ++i) codes.push_back(static_cast<uint8_t>(i));  // no NaN
  checkpoint->add("m.weight", {10, 7}, codes);
  checkpoint->set_type("m.weight", ElementType::F8_E4M3);
  checkpoint->add("m.weight_scale_inv", {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const nlohmann::json config = {
      {"quantization_config", {{"quant_method", "fp8"}, {"weight_block_size", {4, 4}}, {"fmt", "e4m3"}}}};
  expect_parts(dequantized(checkpoint, config));
}

// Rows of queries are permuted within their heads, and blocks hold 32 numbers.
TEST(WeightParts, OfGguf) {
  GgufWriter file;
  file.text("general.architecture", "llama");
  for (const auto& [key, value] : {std::pair("block_count", 1u),
                                   {"embedding_length", 64u},
                                   {"context_length", 64u},
                                   {"feed_forward_length", 64u},
                                   {"attention.head_count", 2u}})
    file.number("llama." + std::string(key), value);
  file.real("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  const auto add = [&](const char* name, std::vector<int64_t> shape) {
    std::string blocks;
    size_t count = 1;
    for (const int64_t d : shape) count *= static_cast<size_t>(d);
    for (size_t i = 0; i < count / 32; ++i) {
      blocks += std::string("\0\x3c", 2);  // a scale of 1
      for (size_t k = 0; k < 32; ++k) blocks += static_cast<char>(i * 5 + k);
    }
    file.tensor(name, shape, GgufWriter::kQ8_0, blocks);
  };
  add("token_embd.weight", {10, 64});
  add("output_norm.weight", {64});
  for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"}) add(name, {64, 64});
  ScratchFolder folder;
  expect_parts(open_checkpoint(folder.write("m.gguf", file.bytes())));
}

}  // namespace
}  // namespace ferry
