#include "sdk/image/axis.h"

#include <algorithm>
#include <cmath>

namespace ferry::image {
namespace {

constexpr double kPi = 3.14159265358979323846;

double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double bilinear(double x) {
  x = std::fabs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

double hamming(double x) {
  x = std::fabs(x);
  if (x == 0.0) return 1.0;
  if (x >= 1.0) return 0.0;
  x *= kPi;
  return std::sin(x) / x * (0.54 + 0.46 * std::cos(x));
}

double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= kPi;
  return std::sin(x) / x;
}

double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0; }

struct Kernel {
  double (*weight)(double);
  double support;  // in source pixels, at scale 1
};

Kernel kernel_of(fbs::Filter filter) {
  switch (filter) {
    case fbs::Filter::Box: return {box, 0.5};
    case fbs::Filter::Hamming: return {hamming, 1.0};
    case fbs::Filter::Bicubic: return {bicubic, 2.0};
    case fbs::Filter::Lanczos: return {lanczos, 3.0};
    case fbs::Filter::Bilinear:
    case fbs::Filter::Nearest: break;  // Nearest reads one pixel, without a kernel
  }
  return {bilinear, 1.0};
}

}  // namespace

void Axis::compute(const Side& side, fbs::Filter filter) {
  side_ = side;
  const double scale = static_cast<double>(side.source) / side.target;
  const double filter_scale = scale < 1.0 ? 1.0 : scale;
  const Kernel kernel = kernel_of(filter);
  const double support = kernel.support * filter_scale;
  // Pillow skips a pass that changes nothing.
  const bool nearest = filter == fbs::Filter::Nearest || side.source == side.target;
  taps_ = nearest ? 1 : static_cast<size_t>(std::ceil(support)) * 2 + 1;
  entries_.resize(static_cast<size_t>(side.count) * entry_size());
  if (nearest) return take_nearest();
  for (int i = 0; i < side.count; ++i) {
    const double centre = (side.begin + i + 0.5) * scale;
    const int begin = std::max(static_cast<int>(centre - support + 0.5), 0);
    const int end = std::min(static_cast<int>(centre + support + 0.5), side.source);
    const auto weight = [&](int x) { return kernel.weight((x - centre + 0.5) * (1.0 / filter_scale)); };
    double sum = 0.0;
    for (int x = begin; x < end; ++x) sum += weight(x);
    int32_t* entry = entries_.data() + static_cast<size_t>(i) * entry_size();
    int32_t* coefficients = entry + 2;
    for (int x = 0; x < end - begin; ++x) {
      double w = weight(begin + x);
      if (sum != 0.0) w /= sum;
      coefficients[x] = static_cast<int32_t>((w < 0 ? -0.5 : 0.5) + w * (1 << kPrecisionBits));
    }
    if (side.mirrored) std::reverse(coefficients, coefficients + (end - begin));
    entry[0] = side.mirrored ? side.source - end : begin;
    entry[1] = end - begin;
  }
}

// Pillow accumulates the position in a running sum; this selects the same pixels.
void Axis::take_nearest() {
  const double step = static_cast<double>(side_.source) / side_.target;
  double place = step * 0.5;
  for (int i = -side_.begin; i < side_.count; ++i, place += step) {
    if (i < 0) continue;
    const int at = place < side_.source ? static_cast<int>(place) : side_.source - 1;
    int32_t* entry = entries_.data() + static_cast<size_t>(i) * entry_size();
    entry[0] = side_.mirrored ? side_.source - 1 - at : at;
    entry[1] = 1;
    entry[2] = 1 << kPrecisionBits;
  }
}

}  // namespace ferry::image
