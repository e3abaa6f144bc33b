// The weights of a quantised network, rounded in several ways for the final error to choose from.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "converter/quantize/plan.h"
#include "converter/quantize/sample.h"

namespace ferry::int8 {

enum class Rounding : uint8_t { Nearest, NearestCorrected, Hessian, HessianCorrected };
inline constexpr Rounding kRoundings[] = {Rounding::Nearest, Rounding::NearestCorrected, Rounding::Hessian,
                                          Rounding::HessianCorrected};
const char* name_of(Rounding rounding);

using Weights = std::vector<std::shared_ptr<const Weight>>;  // by operator; null for those without a weight

// Rounded to nearest.
Weights nearest_weights(const Graph& graph, const std::vector<Role>& roles);

struct WeightVariants {
  std::array<Weights, std::size(kRoundings)> by_rounding;

  Weights& operator[](Rounding rounding) { return by_rounding[static_cast<size_t>(rounding)]; }
};

// From the rows that the weights are multiplied with when `plan`, whose weights are nearest_weights(), runs on
// `samples`. A corrected bias removes the mean error of its output channel. Memory is bounded: layers are processed in
// groups, with a pass over the samples for each. Weights of very long rows are rounded to nearest in every variant.
// `progress`: called with the done fraction.
WeightVariants weight_variants(const Graph& graph, const Plan& plan, const Samples& samples, int threads,
                               const std::function<void(double)>& progress);

}  // namespace ferry::int8
