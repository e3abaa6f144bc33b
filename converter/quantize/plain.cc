#include "converter/quantize/plain.h"

#include "converter/quantize/calibration.h"
#include "converter/quantize/weight_variants.h"

namespace ferry::int8 {

Plan plain_plan(Graph& graph, const Samples& samples, int threads) {
  const Distributions distributions = observe(graph, samples, threads, {});
  const PerTensor<std::optional<Range>> bounds = bounds_of(graph);
  const std::vector<Role> roles = roles_of(graph, distributions);
  Plan plan;
  plan.int8 = integer_operators(graph, roles, std::vector<bool>(roles.size()));
  plan.weights = nearest_weights(graph, roles);
  plan.affine.resize(graph.table.tensors.size());
  const ScaleGroups groups(graph, roles);
  for (const std::vector<TensorId>& members : groups.members()) {
    Range range;
    for (const TensorId t : members)
      if (distributions[t].observed) range = joined(range, range_of(distributions[t], RangeRule::MinMax, bounds[t]));
    for (const TensorId t : members) plan.affine[t] = affine_of(range);
  }
  return plan;
}

}  // namespace ferry::int8
