// The quantization_config of a checkpoint whose tensors have the names and shapes of every method: GPTQ, AWQ,
// compressed-tensors, bitsandbytes, fp8. The first byte chooses the tensors' types, the rest is the configuration.
#include "converter/checkpoint/quantized.h"

#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/fuzz/harness.h"

namespace {

using namespace ferry;

std::shared_ptr<const Checkpoint> tensors_of(std::string_view hostile) {
  struct Row {
    const char* key;
    std::vector<int64_t> shape;
    ElementType type;
    size_t bytes;
  };
  using enum ElementType;
  static const auto& rows = *new std::vector<Row>{
      {"a.qweight", {4, 32}, I32, 4},
      {"a.qzeros", {1, 4}, I32, 4},
      {"a.scales", {1, 32}, F16, 2},
      {"a.g_idx", {32}, I32, 4},
      {"b.qweight", {32, 4}, I32, 4},
      {"b.qzeros", {1, 4}, I32, 4},
      {"b.scales", {1, 32}, F16, 2},
      {"c.weight_packed", {8, 4}, I32, 4},
      {"c.weight_scale", {8, 1}, F32, 4},
      {"c.weight_shape", {2}, I64, 8},
      {"c.weight_zero_point", {1, 1}, I32, 4},
      {"d.weight", {64, 1}, U8, 1},
      {"d.weight.absmax", {2}, F32, 4},
      {"d.weight.quant_map", {16}, F32, 4},
      {"d.weight.quant_state.bitsandbytes__nf4", {40}, U8, 1},
      {"e.weight", {4, 4}, I8, 1},
      {"e.SCB", {4}, F32, 4},
      {"f.weight", {4, 4}, F8_E4M3, 1},
      {"f.weight_scale_inv", {2, 2}, F32, 4},
      {"g.weight", {4, 4}, F8_E4M3, 1},
      {"g.weight_scale", {4, 1}, F32, 4},
  };
  const unsigned first = hostile.empty() ? 0 : static_cast<unsigned char>(hostile[0]);
  auto checkpoint = std::make_shared<MemoryCheckpoint>();
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (first % (rows.size() + 1) == i + 1) continue;  // one is missing
    size_t count = row.bytes;
    for (const int64_t d : row.shape) count *= static_cast<size_t>(d);
    std::vector<uint8_t> values(count);
    for (size_t k = 0; k < count; ++k)
      values[k] = hostile.empty() ? uint8_t{1} : static_cast<uint8_t>(hostile[(k * 7 + i) % hostile.size()]);
    checkpoint->add(row.key, row.shape, std::move(values));
    checkpoint->set_type(row.key, row.type);
  }
  return checkpoint;
}

}  // namespace

FERRY_FUZZ(quantized) {
  nlohmann::json config;
  if (text.empty() || !expect_error_only([&] { config = parse_json(text.substr(1), "config.json"); })) return;
  if (!config.is_object()) return;
  expect_error_only([&] {
    const auto read = dequantized(tensors_of(text), config);
    for (const auto& [name, tensor] : read->tensors())
      require(tensor.to_floats().size() == static_cast<size_t>(tensor.elements()), "elements went lost");
  });
}
