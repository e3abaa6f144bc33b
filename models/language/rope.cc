#include "models/language/rope.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "converter/error.h"
#include "models/language/config.h"
#include "models/language/modules.h"

namespace ferry::language {
namespace {

using nlohmann::json;

// Llama 3.1's: long waves are stretched by `factor`, short ones stay, and those between are mixed (transformers'
// _compute_llama3_parameters).
void stretch_long_waves(const Configuration& s, std::vector<double>& frequencies) {
  const double factor = s.number("factor"), low = s.number("low_freq_factor"), high = s.number("high_freq_factor");
  const double trained = s.number("original_max_position_embeddings");
  if (!(low < high)) fail("%s: low_freq_factor %g is not below high_freq_factor %g", s.where(), low, high);
  for (double& frequency : frequencies) {
    const double waves = trained * frequency / (2 * std::numbers::pi);  // in the length that the model was trained for
    if (waves > high) continue;
    const double kept = waves < low ? 0 : (waves - low) / (high - low);
    frequency *= kept + (1 - kept) / factor;
  }
}

}  // namespace

Rope rope_of(const json& config, int head) {
  const Configuration all(config, "config.json");
  const bool since_5 = all.has("rope_parameters");
  const Configuration rope = all.inner(since_5 ? "rope_parameters" : "rope_scaling");
  const double theta = rope.has("rope_theta") ? rope.number("rope_theta") : all.number("rope_theta", 10000.0);
  for (const Configuration& s : {all, rope})
    if (s.number("partial_rotary_factor", 1.0) != 1.0)
      fail("%s: partial_rotary_factor is %g, where whole heads are turned here", s.where(),
           s.number("partial_rotary_factor"));
  const std::string kind = rope.has("rope_type") ? rope.text("rope_type") : rope.text("type", "default");

  Rope out;
  for (int i = 0; i < head; i += 2) out.frequencies.push_back(std::pow(theta, -static_cast<double>(i) / head));
  if (kind == "linear") {
    for (double& frequency : out.frequencies) frequency /= rope.number("factor");
  } else if (kind == "llama3") {
    stretch_long_waves(rope, out.frequencies);
  } else if (kind != "default") {
    fail("%s: rope of type '%s', where default, linear and llama3 are known", rope.where(), kind.c_str());
  }
  return out;
}

Rotation rotation(const Rope& rope, Tensor places, int count) {
  std::vector<double> cos, sin;
  for (int place = 0; place < count; ++place) {
    for (int half = 0; half < 2; ++half) {
      for (const double frequency : rope.frequencies) {
        cos.push_back(std::cos(place * frequency));
        sin.push_back(std::sin(place * frequency));
      }
    }
  }
  Graph& graph = *places.graph;
  const Shape shape{count, static_cast<int32_t>(2 * rope.frequencies.size())};
  return {.cos = rows(graph.add_constant("rope.cos", shape, std::move(cos)), places),
          .sin = rows(graph.add_constant("rope.sin", shape, std::move(sin)), places)};
}

}  // namespace ferry::language
