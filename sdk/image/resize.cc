#include "sdk/image/resize.h"

#include <cmath>
#include <cstring>
#include <new>

namespace ferry::image {
namespace {

constexpr double kPi = 3.14159265358979323846;
// 8 bits of sample and 2 of headroom for filters that overshoot leave 22 for the coefficients.
constexpr int kPrecisionBits = 32 - 8 - 2;

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
    default: return {bilinear, 1.0};
  }
}

// For every output position of one axis: which source positions count, and how much.
class Coefficients {
 public:
  Status compute(int source, int target, const Kernel& kernel) {
    const double scale = static_cast<double>(source) / target;
    const double filter_scale = scale < 1.0 ? 1.0 : scale;
    const double support = kernel.support * filter_scale;
    taps_ = static_cast<int>(std::ceil(support)) * 2 + 1;
    const auto n = static_cast<size_t>(target);
    ranges_.reset(new (std::nothrow) Range[n]);
    coefficients_.reset(new (std::nothrow) int32_t[n * static_cast<size_t>(taps_)]);
    std::unique_ptr<double[]> exact(new (std::nothrow) double[static_cast<size_t>(taps_)]);
    if (!ranges_ || !coefficients_ || !exact) {
      return error(FERRY_OUT_OF_MEMORY, "no memory to resize a picture from %d to %d pixels", source, target);
    }
    for (int i = 0; i < target; ++i) {
      const double centre = (i + 0.5) * scale;
      int begin = static_cast<int>(centre - support + 0.5);
      int end = static_cast<int>(centre + support + 0.5);
      if (begin < 0) begin = 0;
      if (end > source) end = source;
      double sum = 0.0;
      for (int x = begin; x < end; ++x) {
        const double w = kernel.weight((x - centre + 0.5) * (1.0 / filter_scale));
        exact[static_cast<size_t>(x - begin)] = w;
        sum += w;
      }
      int32_t* coefficients = coefficients_.get() + int64_t{i} * taps_;
      for (int x = 0; x < end - begin; ++x) {
        double w = exact[static_cast<size_t>(x)];
        if (sum != 0.0) w /= sum;
        coefficients[x] = static_cast<int32_t>((w < 0 ? -0.5 : 0.5) + w * (1 << kPrecisionBits));
      }
      ranges_[static_cast<size_t>(i)] = {begin, end - begin};
    }
    return {};
  }

  int begin(int i) const { return ranges_[static_cast<size_t>(i)].begin; }
  int count(int i) const { return ranges_[static_cast<size_t>(i)].count; }
  const int32_t* of(int i) const { return coefficients_.get() + int64_t{i} * taps_; }

 private:
  struct Range {
    int begin;
    int count;
  };
  int taps_ = 0;
  std::unique_ptr<Range[]> ranges_;
  std::unique_ptr<int32_t[]> coefficients_;
};

constexpr int32_t kHalf = 1 << (kPrecisionBits - 1);

uint8_t to_byte(int32_t fixed) {
  const int32_t value = fixed >> kPrecisionBits;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

template <int Channels>
void horizontal(const uint8_t* source, const Coefficients& coefficients, int width, uint8_t* target) {
  for (int x = 0; x < width; ++x, target += Channels) {
    int32_t sum[Channels];
    for (int32_t& s : sum) s = kHalf;
    const int32_t* w = coefficients.of(x);
    const uint8_t* pixel = source + int64_t{coefficients.begin(x)} * Channels;
    for (int i = 0, n = coefficients.count(x); i < n; ++i, pixel += Channels) {
      for (int c = 0; c < Channels; ++c) sum[c] += pixel[c] * w[i];
    }
    for (int c = 0; c < Channels; ++c) target[c] = to_byte(sum[c]);
  }
}

void horizontal_row(const uint8_t* source, const Coefficients& coefficients, int width, int channels, uint8_t* target) {
  switch (channels) {
    case 1: return horizontal<1>(source, coefficients, width, target);
    case 2: return horizontal<2>(source, coefficients, width, target);
    case 3: return horizontal<3>(source, coefficients, width, target);
    default: return horizontal<4>(source, coefficients, width, target);
  }
}

Status resize_nearest(const View& source, int width, int height, Pixels* out) {
  FERRY_TRY(out->allocate(width, height, source.channels));
  // Pillow walks with a running sum; the same sum lands on the same pixels.
  const double step_x = static_cast<double>(source.width) / width;
  const double step_y = static_cast<double>(source.height) / height;
  const auto pixel = static_cast<size_t>(source.channels);
  double sy = step_y * 0.5;
  for (int y = 0; y < height; ++y, sy += step_y) {
    const int from_y = sy < source.height ? static_cast<int>(sy) : source.height - 1;
    const uint8_t* from = source.row(from_y);
    uint8_t* to = out->row(y);
    double sx = step_x * 0.5;
    for (int x = 0; x < width; ++x, sx += step_x, to += pixel) {
      const int from_x = sx < source.width ? static_cast<int>(sx) : source.width - 1;
      std::memcpy(to, from + static_cast<size_t>(from_x) * pixel, pixel);
    }
  }
  return {};
}

}  // namespace

Status resize(const View& source, int width, int height, fbs::Filter filter, Pixels* out) {
  if (filter == fbs::Filter::Nearest) return resize_nearest(source, width, height, out);
  const Kernel kernel = kernel_of(filter);
  const int channels = source.channels;

  // A pass that changes nothing is left out, as in Pillow.
  Pixels narrowed;
  View middle = source;
  if (width != source.width) {
    Coefficients coefficients;
    FERRY_TRY(coefficients.compute(source.width, width, kernel));
    FERRY_TRY(narrowed.allocate(width, source.height, channels));
    for (int y = 0; y < source.height; ++y)
      horizontal_row(source.row(y), coefficients, width, channels, narrowed.row(y));
    middle = narrowed.view();
  }
  FERRY_TRY(out->allocate(width, height, channels));
  const int samples = width * channels;
  if (height == source.height) {
    for (int y = 0; y < height; ++y) std::memcpy(out->row(y), middle.row(y), static_cast<size_t>(samples));
    return {};
  }
  Coefficients coefficients;
  FERRY_TRY(coefficients.compute(source.height, height, kernel));
  std::unique_ptr<int32_t[]> sums(new (std::nothrow) int32_t[static_cast<size_t>(samples)]);
  if (!sums) return error(FERRY_OUT_OF_MEMORY, "no memory to resize a picture to %dx%d pixels", width, height);
  for (int y = 0; y < height; ++y) {
    // Row by row rather than pixel by pixel: the sums are exact integers, so the order does not matter.
    for (int i = 0; i < samples; ++i) sums[static_cast<size_t>(i)] = kHalf;
    const int32_t* w = coefficients.of(y);
    for (int k = 0, n = coefficients.count(y); k < n; ++k) {
      const uint8_t* from = middle.row(coefficients.begin(y) + k);
      for (int i = 0; i < samples; ++i) sums[static_cast<size_t>(i)] += from[i] * w[k];
    }
    uint8_t* to = out->row(y);
    for (int i = 0; i < samples; ++i) to[i] = to_byte(sums[static_cast<size_t>(i)]);
  }
  return {};
}

}  // namespace ferry::image
