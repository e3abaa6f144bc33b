#include "cli/bisect/weights.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/parity/generator.h"
#include "converter/checkpoint/sha256.h"

namespace ferry::bisect {
namespace {

// Rounding to a checkpoint's type moves a float32 value by up to 2^-9 of itself (bfloat16). float16 subnormals move by
// up to 2^-25.
bool same(float stored, float made, ElementType type) {
  if (stored == made) return true;
  if (type == ElementType::F32) return false;
  return std::fabs(stored - made) <= std::fabs(made) * 0x1p-8f + 0x1p-25f;
}

bool same_as_rule(const CheckpointTensor& tensor, const parity::WeightRule& rule, uint64_t seed) {
  const std::vector<float> stored = tensor.to_floats();
  if (!rule.sha256.empty()) return sha256_hex(std::as_bytes(std::span(stored))) == rule.sha256;
  const int64_t rows = rule.shape.empty() ? 1 : rule.shape[0];
  const std::vector<float> made =
      rule.kind ? parity::fill(*rule.kind, rule.name, seed, rule.offset, rule.scale, tensor.elements(), rows)
                : std::vector<float>(stored.size(), rule.value);
  const auto equal = [&](float a, float b) { return same(a, b, tensor.type); };
  return std::equal(stored.begin(), stored.end(), made.begin(), made.end(), equal);
}

// Constants are rounded once, when they are packed.
bool same_numbers(const Array& a, const Array& b) {
  constexpr double kPacked = 1e-6;
  double largest = 0, absmax = 0;
  for (size_t i = 0; i < a.values.size(); ++i) {
    largest = std::max(largest, std::fabs(a.values[i] - b.values[i]));
    absmax = std::max(absmax, std::fabs(b.values[i]));
  }
  return largest <= absmax * kPacked;
}

}  // namespace

UnlikeTensors unlike_fixture(const Checkpoint& checkpoint, const parity::Fixture& fixture) {
  UnlikeTensors out;
  for (const parity::WeightRule& rule : fixture.weights) {
    const auto found = checkpoint.tensors().find(rule.name);
    if (found == checkpoint.tensors().end() || found->second.shape != rule.shape) continue;
    const ElementType type = found->second.type;
    const bool halves = type == ElementType::F16 || type == ElementType::BF16;
    if (type != ElementType::F32 && !(halves && rule.sha256.empty())) continue;
    ++out.compared;
    if (!same_as_rule(found->second, rule, fixture.weights_seed)) out.names.push_back(rule.name);
  }
  return out;
}

UnlikeTensors unlike_graph(const Source& blob, const Source& graph, const std::map<TensorId, TensorId>& matching) {
  UnlikeTensors out;
  std::set<TensorId> seen;
  const PerTensor<int> producers = graph.producers();
  const auto is_constant = [](const Source& source, TensorId tensor) {
    return source.model->tensors[index_of(tensor)]->buffer != 0;
  };
  for (const auto& ours : blob.model->operators) {
    const auto matched = matching.find(ours->outputs.front());
    if (matched == matching.end() || producers[matched->second] < 0) continue;
    const fbs::OperatorT& theirs = *graph.model->operators[static_cast<size_t>(producers[matched->second])];
    for (size_t i = 0; i < std::min(ours->inputs.size(), theirs.inputs.size()); ++i) {
      const TensorId a = ours->inputs[i], b = theirs.inputs[i];
      if (!is_constant(blob, a) || !is_constant(graph, b) || !seen.insert(a).second) continue;
      const Array of_blob = blob.constant(a), of_graph = graph.constant(b);
      if (of_blob.shape != of_graph.shape) continue;
      ++out.compared;
      if (same_numbers(of_blob, of_graph)) continue;
      const std::string& name = blob.model->tensors[index_of(a)]->name;
      out.names.push_back(name.empty() ? "input " + std::to_string(i) + " of " + ours->name : name);
    }
  }
  return out;
}

}  // namespace ferry::bisect
