// Windows, Fourier transforms and mel filters. A transform is a product with a constant matrix; windows are constants.
#include <cmath>
#include <numbers>

#include "converter/onnx/ops/ops.h"
#include "converter/onnx/ops/pick.h"

namespace ferry::onnx {
namespace {

constexpr int64_t kMaxSignal = 4096;

Type float_type(const Op& op, const char* attribute) {
  const auto type = static_cast<Type>(op.integer(attribute, static_cast<int64_t>(Type::Float32)));
  if (!is_float(type)) op.refuse("attribute '%s' is %s, expected floating point", attribute, type_name(type).c_str());
  return type;
}

// a - b cos(2 pi n / N) + c cos(4 pi n / N), where N is the size, or for symmetric windows the size less 1.
void cosine_window(Op& op, double a, double b, double c) {
  const int64_t size = to_integer(op.single(0, "size"));
  if (size < 0) op.refuse("a size of %lld", static_cast<long long>(size));
  const bool periodic = op.integer("periodic", 1) != 0;
  const double step = 2 * std::numbers::pi / static_cast<double>(std::max<int64_t>(periodic ? size : size - 1, 1));
  std::vector<double> values(static_cast<size_t>(count_computed({size})));
  for (size_t i = 0; i < values.size(); ++i) {
    const double angle = step * static_cast<double>(i);
    values[i] = a - b * std::cos(angle) + c * std::cos(2 * angle);
  }
  op.set(make_array(static_cast<Type>(op.integer("output_datatype", static_cast<int64_t>(Type::Float32))), {size},
                    values));
}

struct Transform {
  int64_t size = 0;     // length of the signal, after padding or cropping
  int64_t samples = 0;  // of the input that count: the rest is cropped, missing ones are 0
  bool inverse = false;
  bool real = false;       // the input has no imaginary parts
  int64_t outputs = 0;     // coefficients
  bool only_real = false;  // the output has no imaginary parts; the input is half of a Hermitian signal
};

// The matrix [outputs * 2, samples * (1 or 2)] of X[k] = sum over n of x[n] e^(-+2 pi i k n / size), parts interleaved.
Array transform_matrix(const Op& op, const Transform& t) {
  if (t.size < 1 || t.size > kMaxSignal)
    op.refuse("a transform of %lld samples, expected 1 to %lld", static_cast<long long>(t.size),
              static_cast<long long>(kMaxSignal));
  const int64_t in_parts = t.real ? 1 : 2, out_parts = t.only_real ? 1 : 2;
  const Dims dims = {t.outputs * out_parts, t.samples * in_parts};
  std::vector<double> values(static_cast<size_t>(count_computed(dims)));
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / dims[1], column = static_cast<int64_t>(i) % dims[1];
    const int64_t k = row / out_parts, n = column / in_parts;
    const double angle =
        (t.inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(k * n % t.size) / static_cast<double>(t.size);
    const bool to_imaginary = row % out_parts != 0, from_imaginary = column % in_parts != 0;
    double value = to_imaginary == from_imaginary ? std::cos(angle) : to_imaginary ? std::sin(angle) : -std::sin(angle);
    if (t.inverse) value /= static_cast<double>(t.size);
    // Coefficients but the first and the middle one stand for their conjugates, too.
    if (t.only_real && n != 0 && 2 * n != t.size) value *= 2;
    values[i] = value;
  }
  return make_array(Type::Float32, dims, values);
}

Tensor times(Op& op, Tensor x, const Array& matrix) {
  return op.graph().add_op("", fbs::LinearT{}, {x, add_constant(op.graph(), op.node().name + ".transform", matrix)});
}

// The axis: an attribute before opset 20, an input since, which by default is the last but the one of the parts.
int transform_axis(Op& op, int rank) {
  const int64_t axis = op.opset() < 20 ? op.integer("axis", 1) : op.has(2) ? to_integer(op.single(2, "axis")) : -2;
  const int found = op.axis(axis, rank);
  if (found == rank - 1) op.refuse("axis %lld holds real and imaginary parts", static_cast<long long>(axis));
  return found;
}

}  // namespace

void hann_window(Op& op) { cosine_window(op, 0.5, 0.5, 0); }
void hamming_window(Op& op) { cosine_window(op, 25.0 / 46, 21.0 / 46, 0); }
void blackman_window(Op& op) { cosine_window(op, 0.42, 0.5, 0.08); }

// [...,n,...,1 or 2] to [...,k,...,2].
void dft(Op& op) {
  const Dims dims = op.dims(0);
  const int rank = op.rank(0);
  if (rank < 2 || (dims.back() != 1 && dims.back() != 2))
    op.refuse("an input of %s, expected a last dimension of 1 or 2", to_string(dims).c_str());
  const int axis = transform_axis(op, rank);
  const bool onesided = op.integer("onesided", 0) != 0;
  Transform t;
  t.inverse = op.integer("inverse", 0) != 0;
  t.real = dims.back() == 1;
  const int64_t given = dims[static_cast<size_t>(axis)];
  t.only_real = t.inverse && onesided;
  if (t.only_real && t.real) op.refuse("onesided and inverse for an input without imaginary parts");
  t.size = op.has(1) ? to_integer(op.single(1, "dft_length")) : t.only_real ? 2 * (given - 1) : given;
  if (onesided && !t.inverse && !t.real) op.refuse("onesided for an input with imaginary parts");
  t.outputs = onesided && !t.inverse ? t.size / 2 + 1 : t.size;
  t.samples = std::min(given, t.only_real ? t.size / 2 + 1 : t.size);
  const Array matrix = transform_matrix(op, t);
  // The axis moves beside the parts, and both become one dimension.
  std::vector<int32_t> perm, back(static_cast<size_t>(rank));
  for (int d = 0; d < rank - 1; ++d)
    if (d != axis) perm.push_back(d);
  perm.push_back(axis);
  perm.push_back(rank - 1);
  for (size_t d = 0; d < perm.size(); ++d) back[static_cast<size_t>(perm[d])] = static_cast<int32_t>(d);
  Tensor x = op.floating(0);
  if (t.samples < given) x = ferry::slice(x, axis, 0, static_cast<int>(t.samples));
  x = ferry::transpose(x, perm);
  Dims joined = dims_of(x);
  joined.pop_back();
  joined.back() = t.samples * dims.back();
  Dims to = joined;
  to.back() = t.outputs;
  to.push_back(t.only_real ? 1 : 2);
  op.set(ferry::transpose(reshape_to(times(op, reshape_to(x, joined), matrix), to), back), op.type(0));
}

// [N,samples] or [N,samples,1 or 2] to [N,frames,bins,2]: a transform of each frame times the window.
void stft(Op& op) {
  Dims dims = op.dims(0);
  if (dims.size() == 2) dims.push_back(1);
  if (dims.size() != 3 || (dims[2] != 1 && dims[2] != 2))
    op.refuse("a signal of %s, expected [N,samples,1 or 2]", to_string(dims).c_str());
  const int64_t step = to_integer(op.single(1, "frame_step"));
  if (!op.has(2) && !op.has(3)) op.refuse("neither a window nor a frame_length");
  const int64_t size = op.has(3) ? to_integer(op.single(3, "frame_length")) : count_elements(op.dims(2));
  if (step < 1 || size < 1 || size > dims[1])
    op.refuse("frames of %lld every %lld of %lld samples", static_cast<long long>(size), static_cast<long long>(step),
              static_cast<long long>(dims[1]));
  const bool onesided = op.integer("onesided", 1) != 0;
  if (onesided && dims[2] == 2) op.refuse("onesided for a signal with imaginary parts");
  if (op.has(2) && op.dims(2) != Dims{size})
    op.refuse("a window of %s for frames of %lld", to_string(op.dims(2)).c_str(), static_cast<long long>(size));
  Transform t{.size = size, .samples = size, .real = dims[2] == 1, .outputs = onesided ? size / 2 + 1 : size};
  const int64_t frames = (dims[1] - size) / step + 1;
  std::vector<int64_t> positions;
  count_computed({frames, size});
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t n = 0; n < size; ++n) positions.push_back(f * step + n);
  Tensor x = reshape_to(pick(op, reshape_to(op.floating(0), dims), 1, positions), {dims[0], frames, size, dims[2]});
  if (op.has(2)) x = x * reshape_to(op.floating(2), {1, 1, size, 1});
  const Tensor y = times(op, reshape_to(x, {dims[0], frames, size * dims[2]}), transform_matrix(op, t));
  op.set(reshape_to(y, {dims[0], frames, t.outputs, 2}), op.type(0));
}

// Triangles that are equally wide on the mel scale 2595 log10(1 + f / 700), over the bins of a one-sided transform.
void mel_weight_matrix(Op& op) {
  const int64_t filters = to_integer(op.single(0, "num_mel_bins")), size = to_integer(op.single(1, "dft_length"));
  const double rate = op.single(2, "sample_rate");
  const double low = op.single(3, "lower_edge_hertz"), high = op.single(4, "upper_edge_hertz");
  if (filters < 1 || size < 1 || !(rate > 0) || !(low >= 0 && low < high))
    op.refuse("%lld filters from %g to %g Hz for a transform of %lld at %g Hz", static_cast<long long>(filters), low,
              high, static_cast<long long>(size), rate);
  const int64_t bins = size / 2 + 1;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  count_computed({filters + 2});
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < filters + 2; ++i) {
    const double at = mel(low) + static_cast<double>(i) * (mel(high) - mel(low)) / static_cast<double>(filters + 2);
    const double hertz = 700 * (std::pow(10.0, at / 2595) - 1);
    edges.push_back(to_integer(std::floor(static_cast<double>(size + 1) * hertz / rate)));
  }
  std::vector<double> values(static_cast<size_t>(count_computed({bins, filters})), 0.0);
  for (int64_t i = 0; i < filters; ++i) {
    const auto at = static_cast<size_t>(i);
    const int64_t left = edges[at], center = edges[at + 1], right = edges[at + 2];
    const auto set = [&](int64_t bin, double value) {
      if (bin < bins) values[static_cast<size_t>(bin * filters + i)] = value;
    };
    for (int64_t b = left; b < center && b < bins; ++b)
      set(b, static_cast<double>(b - left) / static_cast<double>(center - left));
    if (left == center) set(center, 1);
    for (int64_t b = center; b < right && b < bins; ++b)
      set(b, static_cast<double>(right - b) / static_cast<double>(right - center));
  }
  op.set(make_array(float_type(op, "output_datatype"), {bins, filters}, values));
}

}  // namespace ferry::onnx
