#include "cli/bisect/matching.h"

#include <cstdlib>

#include "converter/passes/passes.h"
#include "converter/quantize/compute_on_integers.h"
#include "converter/source.h"

namespace ferry::bisect {
namespace {

using Operators = std::vector<std::unique_ptr<fbs::OperatorT>>;

bool alike(const fbs::GraphT& a, const fbs::OperatorT& x, const fbs::GraphT& b, const fbs::OperatorT& y) {
  return x.name == y.name && x.params.type == y.params.type &&
         a.tensors[index_of(x.outputs.front())]->shape == b.tensors[index_of(y.outputs.front())]->shape;
}

// The longest common subsequence of two operator lists, as pairs of outputs.
std::map<TensorId, TensorId> common(const fbs::GraphT& a, const fbs::GraphT& b) {
  const Operators &x = a.operators, &y = b.operators;
  std::vector<std::vector<int>> length(x.size() + 1, std::vector<int>(y.size() + 1));
  for (size_t i = x.size(); i-- > 0;)
    for (size_t j = y.size(); j-- > 0;)
      length[i][j] =
          alike(a, *x[i], b, *y[j]) ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
  std::map<TensorId, TensorId> out;
  for (size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (alike(a, *x[i], b, *y[j]))
      out[x[i++]->outputs.front()] = y[j++]->outputs.front();
    else
      length[i + 1][j] >= length[i][j + 1] ? ++i : ++j;
  }
  return out;
}

}  // namespace

Matching match(const fbs::GraphT& blob, size_t index, const ConvertOptions& convert, Families families) {
  ConvertOptions options = convert;
  options.passes = false;
  const PassOptions passes{.keep_taps = convert.settings.has("keep-taps") || convert.settings.has("tap")};
  const auto build = [&] {
    std::vector<std::unique_ptr<Graph>> graphs = convert_to_graphs(families, options);
    if (index >= graphs.size())
      fail("the blob has a graph '%s', the checkpoint gives %zu graphs", blob.name.c_str(), graphs.size());
    // An importer's graph has its own order of dimensions before these passes, by which the blob cannot be judged.
    if (source_of(options.checkpoint).family != nullptr) make_channels_last(*graphs[index], passes);
    return std::move(graphs[index]);
  };
  Matching out{.graph = build(), .after_passes = build(), .raw = {}, .passed = {}};
  // Passes renumber tensors but keep their names.
  auto& tensors = out.after_passes->table.tensors;
  for (size_t i = 0; i < tensors.size(); ++i) tensors[i]->name = "#" + std::to_string(i);
  run_passes(*out.after_passes, passes);
  if (source_of(options.checkpoint).family != nullptr) int8::finish_integers(*out.after_passes, passes, nullptr);
  out.passed = common(blob, out.after_passes->table);
  for (size_t i = 0; i < blob.inputs.size() && i < out.after_passes->table.inputs.size(); ++i)
    out.passed[blob.inputs[i]->tensor] = out.after_passes->table.inputs[i]->tensor;
  for (const auto& [ours, passed] : out.passed)
    if (const std::string& name = tensors[index_of(passed)]->name; name.starts_with('#'))
      out.raw[ours] = tensor_at(std::strtoul(name.c_str() + 1, nullptr, 10));
  return out;
}

}  // namespace ferry::bisect
