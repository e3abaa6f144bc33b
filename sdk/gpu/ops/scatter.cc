#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/places.h"

namespace ferry::gpu {

Status lower_scatter(const Problem& problem, int, Lowering* out) {
  constexpr uint32_t kMaximumPlaces = 256;  // every invocation reads all indices of its row
  const fbs::Scatter& p = *problem.op.params_as_Scatter();
  FERRY_TRY(check_rows_of_places(problem, p.axis()));
  const Rows rows = rows_of(problem.output), places = rows_of(problem.inputs[1]);
  if (places.channels > kMaximumPlaces) return unsupported("%u indices in a row", places.channels);
  out->add({.kernel = Kernel::Scatter,
            .groups = spread(rows.total(), 64, problem.limits),
            .constants = {static_cast<uint32_t>(p.kind())},
            .push = {rows.rows, rows.channels, rows.quads(), places.channels, places.quads()},
            .weights = out->input(2),
            .operand = out->input(1)});
  return {};
}

}  // namespace ferry::gpu
