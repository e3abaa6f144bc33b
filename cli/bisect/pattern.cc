#include <algorithm>
#include <cmath>

#include "cli/bisect/causes.h"

namespace ferry::bisect {
namespace {

// Elements are equal if they differ by at most this, relative to the absolute maximum.
constexpr double kSame = 1e-4;

struct Channel {
  double scale = 0, shift = 0;  // the least-squares fit wrong = scale * right + shift
  double left = 0;              // the largest difference after the fit
  double difference = 0;        // the largest difference before it
};

Channel fit(const Array& wrong, const Array& right, size_t channel, size_t channels) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  Channel out;
  for (size_t i = channel; i < right.values.size(); i += channels) {
    const double a = right.values[i], b = wrong.values[i];
    n += 1, x += a, y += b, xx += a * a, xy += a * b;
    out.difference = std::max(out.difference, std::fabs(a - b));
  }
  const double spread = n * xx - x * x;
  out.scale = spread > 0 ? (n * xy - x * y) / spread : 1;
  out.shift = (y - out.scale * x) / n;
  for (size_t i = channel; i < right.values.size(); i += channels)
    out.left = std::max(out.left, std::fabs(out.scale * right.values[i] + out.shift - wrong.values[i]));
  return out;
}

}  // namespace

std::string pattern_of(const Array& wrong, const Array& right) {
  if (wrong.shape != right.shape || right.shape.rank == 0 || right.values.empty())
    return "its shape is " + to_string(wrong.shape) + ", expected " + to_string(right.shape);
  double absmax = 0;
  for (double v : right.values) absmax = std::max(absmax, std::fabs(v));
  const double same = kSame * absmax;
  const auto channels = static_cast<size_t>(right.shape[right.shape.rank - 1]);
  std::vector<Channel> fits;
  for (size_t c = 0; c < channels; ++c) fits.push_back(fit(wrong, right, c, channels));
  const auto all = [&](auto holds) { return std::all_of(fits.begin(), fits.end(), holds); };
  const bool few = right.values.size() / channels < 8;  // too few values per channel to tell a fit from chance

  std::vector<size_t> bad;
  for (size_t c = 0; c < channels; ++c)
    if (!(fits[c].difference <= same)) bad.push_back(c);
  if (bad.size() * 4 <= channels && bad.size() < channels) {
    std::string text = "only " + std::to_string(bad.size()) + " of " + std::to_string(channels) + " channels differ:";
    for (size_t i = 0; i < bad.size() && i < 8; ++i) text += " " + std::to_string(bad[i]);
    return text + (bad.size() > 8 ? "... (those weights differ)" : " (those weights differ)");
  }
  if (few) return {};
  const double scale = fits.front().scale;
  if (all([&](const Channel& c) {
        return c.left <= same && std::fabs(c.shift) <= same && std::fabs(c.scale - scale) <= 1e-3 * std::fabs(scale);
      })) {
    char text[80];
    std::snprintf(text, sizeof text, "every value is %.6g times what it should be: a scale is lost or added", scale);
    return text;
  }
  if (all([&](const Channel& c) { return c.left <= same; }))
    return all([&](const Channel& c) { return std::fabs(c.scale - 1) <= 1e-3; })
               ? "each channel is shifted by a constant: a bias is missing or wrong"
               : "each channel is scaled and shifted by constants: a norm's statistics, weight or bias are wrong";
  // The same channels at other positions.
  const size_t rows = right.values.size() / channels;
  size_t found = 0;
  for (size_t c = 0; c < channels && found == c; ++c)
    for (size_t from = 0; from < channels; ++from) {
      size_t r = 0;
      while (r < rows && std::fabs(wrong.values[r * channels + c] - right.values[r * channels + from]) <= same) ++r;
      if (r == rows) {
        ++found;
        break;
      }
    }
  return found == channels ? "the channels are in another order" : std::string();
}

}  // namespace ferry::bisect
