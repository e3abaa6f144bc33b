#include "cli/parity/judge.h"

#include "cli/parity/equal_inputs.h"
#include "cli/parity/operators.h"
#include "cli/parity/rounding.h"
#include "cli/parity/stages.h"

namespace ferry::parity {

Comparison judge(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                 const ferry_session_options& session) {
  const bool half = session.precision == FERRY_PRECISION_FLOAT16;
  if (!half && computes_on_integers(blob)) return compare_on_equal_inputs(blob, fixture, session);
  if (!half && !has_rounded_constants(blob)) return compare(fixture, computed);
  Comparison comparison = compare(fixture, computed, Precision::Float16);
  bound_by_rounding(blob, fixture, computed, session, &comparison);
  if (half)
    judge_by_stage(blob, fixture, computed, session, &comparison);
  else
    judge_by_operator(blob, fixture, computed, session, &comparison);
  return comparison;
}

}  // namespace ferry::parity
