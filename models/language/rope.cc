#include "models/language/rope.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "converter/error.h"
#include "models/language/modules.h"

namespace ferry::language {
namespace {

// Settings that the formulas of transformers' modeling_rope_utils.py use.
struct RopeSettings {
  const Configuration &all, rope;  // config.json, and the rope settings in it
  double theta;
  int rotated;  // rotated channels of a head

  // Context length before the extension.
  int original_length() const {
    static constexpr char kName[] = "original_max_position_embeddings";
    if (all.has(kName)) return all.count(kName);
    return rope.has(kName) ? rope.count(kName) : all.count("max_position_embeddings");
  }
  double factor() const {
    return rope.has("factor") ? rope.number("factor") : all.number("max_position_embeddings") / original_length();
  }
};

double to_float(double value) { return static_cast<double>(static_cast<float>(value)); }

// theta^(i / rotated) in float32, as transformers computes it: at position 100,000 the rounding of a frequency turns
// the angle by some thousandths.
std::vector<double> wavelengths_of(const RopeSettings& s) {
  std::vector<double> out;
  for (int i = 0; i < s.rotated; i += 2)
    out.push_back(to_float(std::pow(s.theta, to_float(static_cast<double>(i) / s.rotated))));
  return out;
}

std::vector<double> frequencies_of(const RopeSettings& s) {
  std::vector<double> out = wavelengths_of(s);
  for (double& value : out) value = to_float(1 / value);
  return out;
}

Rope unscaled(const RopeSettings& s) { return {.frequencies = frequencies_of(s)}; }

Rope linear(const RopeSettings& s) {
  Rope out = unscaled(s);
  for (double& frequency : out.frequencies) frequency /= s.rope.number("factor");
  return out;
}

// Llama 3.1: long wavelengths are stretched by `factor`, short ones kept, those between interpolated (transformers'
// _compute_llama3_parameters).
Rope llama3(const RopeSettings& s) {
  const double factor = s.rope.number("factor");
  const double low = s.rope.number("low_freq_factor"), high = s.rope.number("high_freq_factor");
  if (!(low < high)) fail("%s: low_freq_factor %g is not below high_freq_factor %g", s.rope.where(), low, high);
  Rope out = unscaled(s);
  for (double& frequency : out.frequencies) {
    const double waves = s.original_length() * frequency / (2 * std::numbers::pi);
    if (waves > high) continue;
    const double kept = waves < low ? 0 : (waves - low) / (high - low);
    frequency *= kept + (1 - kept) / factor;
  }
  return out;
}

double yarn_mscale(double factor, double m) { return factor <= 1 ? 1 : 0.1 * m * std::log(factor) + 1; }

// YaRN (Peng et al., arXiv:2309.00071): channels with at least beta_fast rotations in the original context are kept,
// those with at most beta_slow are stretched by `factor`; between them is a linear ramp over the channels.
Rope yarn(const RopeSettings& s) {
  const double factor = s.factor();
  const auto channel_of = [&](double turns) {
    return s.rotated * std::log(s.original_length() / (turns * 2 * std::numbers::pi)) / (2 * std::log(s.theta));
  };
  double low = channel_of(s.rope.number("beta_fast", 32.0)), high = channel_of(s.rope.number("beta_slow", 1.0));
  if (s.rope.flag("truncate", true)) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, s.rotated - 1.0);
  if (low == high) high += 0.001;

  // Each step is rounded to float32, as the reference's.
  const auto first = static_cast<float>(low), width = static_cast<float>(high - low), by = static_cast<float>(factor);
  Rope out;
  for (const double wavelength : wavelengths_of(s)) {
    const auto wave = static_cast<float>(wavelength), i = static_cast<float>(out.frequencies.size());
    const float kept = 1 - std::clamp((i - first) / width, 0.0f, 1.0f);
    out.frequencies.push_back(static_cast<double>(1 / (by * wave) * (1 - kept) + 1 / wave * kept));
  }
  const auto mscale = [&](double m) { return yarn_mscale(factor, m); };
  const bool both = s.rope.has("mscale") && s.rope.has("mscale_all_dim");
  out.scale = both ? mscale(s.rope.number("mscale")) / mscale(s.rope.number("mscale_all_dim")) : mscale(1);
  out.scale = s.rope.number("attention_factor", out.scale);
  return out;
}

// LongRoPE (Ding et al., arXiv:2402.13753): a factor per pair of channels, with a second set for texts longer than the
// original context.
Rope longrope(const RopeSettings& s) {
  const int original = s.original_length();
  const std::vector<double> wavelengths = wavelengths_of(s);
  const auto divided_by = [&](const char* factors) {
    const std::vector<double> by = s.rope.numbers(factors, wavelengths.size());
    std::vector<double> out;
    for (size_t i = 0; i < wavelengths.size(); ++i) out.push_back(1 / to_float(to_float(by[i]) * wavelengths[i]));
    return out;
  };
  const double factor = s.factor();
  const double scale = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
  return {.frequencies = divided_by("short_factor"),
          .scale = s.rope.number("attention_factor", scale),
          .long_context = {{.frequencies = divided_by("long_factor"), .short_length = original}}};
}

constexpr struct {
  const char* name;
  Rope (*make)(const RopeSettings& s);
} kKinds[] = {
    {"default", unscaled},
    {"linear", linear},
    {"dynamic", unscaled},  // differs only beyond max_position_embeddings, which
                            // --max-length refuses
    {"llama3", llama3},
    {"yarn", yarn},
    {"longrope", longrope},
    {"su", longrope},  // its earlier name
};

int rotated_channels(const Configuration& all, const Configuration& rope, int head, const RopeDefaults& spelling) {
  static constexpr char kName[] = "partial_rotary_factor";
  const Configuration& s = rope.has(kName) ? rope : all;
  const double part = s.number(kName, spelling.partial.value_or(1));
  if (!spelling.partial && part != 1) fail("%s: %s is %g, expected 1 for this model", s.where(), kName, part);
  const int rotated = part > 1 ? 0 : static_cast<int>(head * part);
  if (rotated < 2 || rotated % 2 != 0)
    fail("%s: %s is %g: expected an even number of a head's %d channels", s.where(), kName, part, head);
  return rotated;
}

Configuration about_rope(const Configuration& all, const RopeDefaults& spelling) {
  if (all.has("rope_parameters")) {
    const Configuration rope = all.inner("rope_parameters");
    if (!spelling.layer_type) return rope;
    if (!rope.has(spelling.layer_type)) fail("%s: %s is missing", rope.where(), spelling.layer_type);
    return rope.inner(spelling.layer_type);
  }
  return all.inner(spelling.scaling_name ? spelling.scaling_name : "rope_parameters");
}

}  // namespace

Rope rope_of(const Configuration& all, int head, const RopeDefaults& spelling) {
  const Configuration rope = about_rope(all, spelling);
  const double theta =
      rope.has("rope_theta") ? rope.number("rope_theta") : all.number(spelling.theta_name, spelling.theta);
  const std::string kind = rope.has("rope_type") ? rope.text("rope_type") : rope.text("type", "default");
  const RopeSettings settings{all, rope, theta, rotated_channels(all, rope, head, spelling)};
  for (const auto& known : kKinds) {
    if (kind != known.name) continue;
    Rope out = known.make(settings);
    for (double& frequency : out.frequencies) frequency = to_float(frequency);
    if (out.long_context)
      for (double& frequency : out.long_context->frequencies) frequency = to_float(frequency);
    out.unscaled = frequencies_of(settings);
    const auto finite = [](double value) { return std::isfinite(value); };
    if (!finite(out.scale) || !std::all_of(out.frequencies.begin(), out.frequencies.end(), finite))
      fail("%s: rope of type '%s' with rope_theta %g results in infinite angles", rope.where(), kind.c_str(), theta);
    return out;
  }
  std::string names;
  for (const auto& known : kKinds) names += (names.empty() ? "" : ", ") + std::string(known.name);
  fail("%s: rope of type '%s' is not supported, expected one of: %s", rope.where(), kind.c_str(), names.c_str());
}

void check_inv_freq(const Rope& rope, const Weights& w) {
  // Older transformers scaled positions instead of frequencies (linear), or computed scaled ones in each run
  // (longrope).
  std::vector<std::vector<double>> expected = {rope.frequencies, rope.unscaled};
  if (rope.long_context) expected.push_back(rope.long_context->frequencies);
  for (const char* leaf : {"inv_freq", "original_inv_freq"}) w.computed(leaf, expected);
}

std::vector<int> interleaved_axes(const Configuration& all, size_t pairs, const std::array<int, 3>& absent) {
  const Configuration rope = about_rope(all, {});
  if (!rope.flag("mrope_interleaved", true))
    fail("%s: mrope_interleaved is false, expected interleaved sections", rope.where());
  std::array<double, 3> sections{};
  std::copy(absent.begin(), absent.end(), sections.begin());
  if (rope.has("mrope_section")) {
    const std::vector<double> said = rope.numbers("mrope_section", sections.size());
    std::copy(said.begin(), said.end(), sections.begin());
  }
  std::vector<int> axes;
  for (size_t i = 0; i < pairs; ++i) {
    const size_t axis = i % sections.size();
    axes.push_back(static_cast<double>(i / sections.size()) < sections[axis] ? static_cast<int>(axis) : 0);
  }
  return axes;
}

double yarn_score_scale(const Configuration& all) {
  const Configuration rope = about_rope(all, {});
  if (rope.text("rope_type", rope.text("type", "default")) == "default" || !rope.has("mscale_all_dim")) return 1;
  const double scale = yarn_mscale(rope.number("factor"), rope.number("mscale_all_dim"));
  return scale * scale;
}

Tensor Rotation::operator()(Tensor x, int heads) const {
  const int width = channels(x), head = width / heads, rotated = channels(cos);
  if (rotated == head) return rotary_embedding(x, cos, sin, heads, interleaved);
  const Tensor each = reshape(x, {0, 0, heads, head});
  const Tensor first = reshape(slice(each, -1, 0, rotated), {0, 0, heads * rotated});
  const Tensor turns = reshape(rotary_embedding(first, cos, sin, heads, interleaved), {0, 0, heads, rotated});
  return reshape(concat({turns, slice(each, -1, rotated, head - rotated)}), {0, 0, width});
}

namespace {

// Gathers rows of `table` [count,rotated] by position. With several axes [axes,L], each channel comes from the row of
// its own axis.
Tensor rows_of_axes(Tensor table, Tensor positions, const Rope& rope) {
  const Tensor all = rows(table, positions);
  if (rope.axes.empty()) return all;
  const int count = positions.shape()[0], rotated = channels(table);
  std::vector<double> own;
  for (int axis = 0; axis < count; ++axis)
    for (int i = 0; i < rotated; ++i) {
      const auto pair = static_cast<size_t>(rope.interleaved ? i / 2 : i) % rope.axes.size();
      own.push_back(rope.axes[pair] == axis ? 1 : 0);
    }
  return sum_first(all * table.graph->add_constant("rope.axes", Shape{count, 1, rotated}, std::move(own)));
}

}  // namespace

Rotation rotation(const Rope& rope, Tensor positions, int count) {
  const bool is_long = rope.long_context && count > rope.long_context->short_length;
  const std::vector<double>& frequencies = is_long ? rope.long_context->frequencies : rope.frequencies;
  std::vector<double> cos, sin;
  const size_t rotated = 2 * frequencies.size();
  for (int position = 0; position < count; ++position) {
    for (size_t i = 0; i < rotated; ++i) {
      const double frequency = frequencies[rope.interleaved ? i / 2 : i % frequencies.size()];
      const double angle = to_float(position * frequency);  // in float32, as the reference
      cos.push_back(std::cos(angle) * rope.scale);
      sin.push_back(std::sin(angle) * rope.scale);
    }
  }
  Graph& graph = *positions.graph;
  const Shape shape{count, static_cast<int32_t>(rotated)};
  return {.cos = rows_of_axes(graph.add_constant("rope.cos", shape, std::move(cos)), positions, rope),
          .sin = rows_of_axes(graph.add_constant("rope.sin", shape, std::move(sin)), positions, rope),
          .interleaved = rope.interleaved};
}

}  // namespace ferry::language
