#include "sdk/image/frame_columns.h"

#include <algorithm>
#include <cstring>
#include <utility>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <immintrin.h>
#endif

#include "sdk/kernel.h"

namespace ferry::image {
namespace {

static_assert(kLanes == 8, "vectors of 16 bits, and three steps from rows to columns");

// Sample windows begin at multiples of kAlign and have multiples of kTaps samples.
#if defined(__x86_64__)
constexpr int kAlign = 2, kTaps = 2;  // one instruction multiplies adjacent samples and adds the products
#elif defined(__aarch64__)
constexpr int kAlign = 1, kTaps = 4;  // one vector load of weights
#else
constexpr int kAlign = 1, kTaps = 1;
#endif

#if defined(__aarch64__) || defined(__SSE2__)
#if defined(__aarch64__)
typedef int16x8_t Vector;
inline Vector load(const int16_t* from) { return vld1q_s16(from); }
inline void store(int16_t* to, Vector v) { vst1q_s16(to, v); }
inline Vector low(Vector a, Vector b) { return vzip1q_s16(a, b); }
inline Vector high(Vector a, Vector b) { return vzip2q_s16(a, b); }
#else
typedef __m128i Vector;
inline Vector load(const int16_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from)); }
inline void store(int16_t* to, Vector v) { _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to), v); }
inline Vector low(Vector a, Vector b) { return _mm_unpacklo_epi16(a, b); }
inline Vector high(Vector a, Vector b) { return _mm_unpackhi_epi16(a, b); }
#endif

// One of three steps of an 8x8 transposition.
[[gnu::always_inline]] inline void shuffle(Vector (&v)[kLanes]) {
  const Vector a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
  v[0] = low(a, e), v[1] = high(a, e), v[2] = low(b, f), v[3] = high(b, f);
  v[4] = low(c, g), v[5] = high(c, g), v[6] = low(d, h), v[7] = high(d, h);
}
[[gnu::always_inline]] inline void transpose(const int16_t* from, int64_t from_stride, int16_t* to, int64_t to_stride) {
  Vector v[kLanes] = {load(from),
                      load(from + from_stride),
                      load(from + 2 * from_stride),
                      load(from + 3 * from_stride),
                      load(from + 4 * from_stride),
                      load(from + 5 * from_stride),
                      load(from + 6 * from_stride),
                      load(from + 7 * from_stride)};
  shuffle(v), shuffle(v), shuffle(v);
  store(to, v[0]), store(to + to_stride, v[1]), store(to + 2 * to_stride, v[2]), store(to + 3 * to_stride, v[3]);
  store(to + 4 * to_stride, v[4]), store(to + 5 * to_stride, v[5]), store(to + 6 * to_stride, v[6]);
  store(to + 7 * to_stride, v[7]);
}
#else
inline void transpose(const int16_t* from, int64_t from_stride, int16_t* to, int64_t to_stride) {
  for (int y = 0; y < kLanes; ++y)
    for (int x = 0; x < kLanes; ++x) to[x * to_stride + y] = from[y * from_stride + x];
}
#endif

// One output of kLanes lines, from `taps` columns.
#if defined(__aarch64__)
[[gnu::always_inline]] inline void add_up(const int16_t* samples, const int16_t* weights, int taps, int16_t* out) {
  int32x4_t first = vdupq_n_s32(0), second = first;
  const int16_t* end = weights + taps;
  do {
    const int16x4_t w = vld1_s16(weights);
    const int16x8_t a = vld1q_s16(samples), b = vld1q_s16(samples + kLanes);
    const int16x8_t c = vld1q_s16(samples + 2 * kLanes), d = vld1q_s16(samples + 3 * kLanes);
    first = vmlal_lane_s16(first, vget_low_s16(a), w, 0), second = vmlal_high_lane_s16(second, a, w, 0);
    first = vmlal_lane_s16(first, vget_low_s16(b), w, 1), second = vmlal_high_lane_s16(second, b, w, 1);
    first = vmlal_lane_s16(first, vget_low_s16(c), w, 2), second = vmlal_high_lane_s16(second, c, w, 2);
    first = vmlal_lane_s16(first, vget_low_s16(d), w, 3), second = vmlal_high_lane_s16(second, d, w, 3);
    samples += kTaps * kLanes, weights += kTaps;
  } while (weights != end);
  vst1q_s16(out, vqrshrn_high_n_s32(vqrshrn_n_s32(first, kWeightBits), second, kWeightBits));
}
#else
[[gnu::always_inline]] inline void add_up(const int16_t* samples, const int16_t* weights, int taps, int16_t* out) {
  int32_t sums[kLanes] = {};
  for (int k = 0; k < taps; ++k)
    for (int i = 0; i < kLanes; ++i) sums[i] += samples[k * kLanes + i] * weights[k];
  for (int i = 0; i < kLanes; ++i) {
    const int32_t rounded = (sums[i] + (1 << (kWeightBits - 1))) >> kWeightBits;
    out[i] = static_cast<int16_t>(std::clamp<int32_t>(rounded, INT16_MIN, INT16_MAX));
  }
}
#endif

// One pass over the outputs.
struct Pass {
  const int32_t* begins;
  const int16_t* weights;
  int taps;
  int first, last;      // columns, in multiples of kLanes
  int16_t* transposed;  // transposed samples, from the first column on
};

FERRY_KERNEL void filter(const Pass& pass, const LineBlock& lines, int begin, int end, const LineBlock& out) {
  const int16_t* from = lines.samples + pass.first;
  int16_t* transposed = pass.transposed;
  for (int x = pass.first; x < pass.last; x += kLanes, from += kLanes, transposed += kLanes * kLanes)
    transpose(from, lines.stride, transposed, kLanes);
  const int16_t *columns = pass.transposed - int64_t{pass.first} * kLanes, *weights = pass.weights;
  const int32_t* begins = pass.begins;
  for (int x = begin; x < end; x += kLanes) {
    int16_t sums[kLanes * kLanes];
    for (int i = 0; i < kLanes; ++i, weights += pass.taps)
      add_up(columns + int64_t{*begins++} * kLanes, weights, pass.taps, sums + i * kLanes);
    transpose(sums, kLanes, out.samples + x, out.stride);
  }
}

#if defined(__x86_64__)
// Two columns of each line side by side.
[[gnu::target("avx2")]] void filter_avx2(const Pass& pass, const LineBlock& lines, int begin, int end,
                                         const LineBlock& out) {
  for (int x = pass.first; x < pass.last; x += kLanes) {
    const int16_t* from = lines.samples + x;
    __m256i v[4];
    for (int i = 0; i < 4; ++i)
      v[i] = _mm256_set_m128i(load(from + (4 + i) * lines.stride), load(from + i * lines.stride));
    const __m256i a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
    const __m256i c = _mm256_unpacklo_epi32(v[2], v[3]), d = _mm256_unpackhi_epi32(v[2], v[3]);
    __m256i_u* to = reinterpret_cast<__m256i_u*>(pass.transposed + (x - pass.first) * kLanes);
    _mm256_storeu_si256(to, _mm256_unpacklo_epi64(a, c)), _mm256_storeu_si256(to + 1, _mm256_unpackhi_epi64(a, c));
    _mm256_storeu_si256(to + 2, _mm256_unpacklo_epi64(b, d)), _mm256_storeu_si256(to + 3, _mm256_unpackhi_epi64(b, d));
  }
  const int16_t *columns = pass.transposed - int64_t{pass.first} * kLanes, *weights = pass.weights;
  const int32_t* begins = pass.begins;
  for (int x = begin; x < end; x += kLanes) {
    int16_t sums[kLanes * kLanes];
    for (int i = 0; i < kLanes; ++i, weights += pass.taps) {
      const int16_t* from = columns + int64_t{*begins++} * kLanes;
      __m256i sum = _mm256_set1_epi32(1 << (kWeightBits - 1));
      for (int k = 0; k < pass.taps; k += 2) {
        int32_t two;
        std::memcpy(&two, weights + k, sizeof(two));
        const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from + k * kLanes));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi32(two)));
      }
      sum = _mm256_srai_epi32(sum, kWeightBits);
      store(sums + i * kLanes, _mm_packs_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)));
    }
    transpose(sums, kLanes, out.samples + x, out.stride);
  }
}
#endif

}  // namespace

void fixed_weights(const int32_t* weights, int count, int16_t* out) {
  constexpr int kBelow = kPrecisionBits - kWeightBits;
  int rest = 1 << kWeightBits, largest = 0;
  for (int i = 0; i < count; ++i) {
    rest -= (weights[i] + (1 << (kBelow - 1))) >> kBelow;
    if (weights[i] > weights[largest]) largest = i;
  }
  for (int i = 0; i < count; ++i) {
    const int weight = ((weights[i] + (1 << (kBelow - 1))) >> kBelow) + (i == largest ? rest : 0);
    out[i] = static_cast<int16_t>(std::min(weight, INT16_MAX));
  }
}

// Past the last output, weights are zero.
void PlaneColumns::Windows::prepare(int taps_of_output, int outputs) {
  taps = (taps_of_output + kAlign - 1 + kTaps - 1) / kTaps * kTaps;
  begins.assign(static_cast<size_t>(outputs), 0);
  weights.assign(static_cast<size_t>(outputs) * static_cast<size_t>(taps), 0);
}

void PlaneColumns::Windows::set(int output, int begin, int count, const int32_t* from) {
  int16_t* to = weights.data() + int64_t{output} * taps;
  begins[static_cast<size_t>(output)] = begin / kAlign * kAlign;
  fixed_weights(from, count, to + begin % kAlign);
}

void PlaneColumns::run(const Windows& windows, const LineBlock& lines, int begin, int end, const LineBlock& out) {
  begin = begin / kLanes * kLanes;
  end = (end + kLanes - 1) / kLanes * kLanes;
  if (begin >= end) return;
  int32_t minimum = windows.begins[static_cast<size_t>(begin)], maximum = windows.begins[static_cast<size_t>(end - 1)];
  if (mirrored_) std::swap(minimum, maximum);
  const Pass pass = {
      windows.begins.data() + begin, windows.weights.data() + int64_t{begin} * windows.taps,  windows.taps,
      minimum / kLanes * kLanes,     (maximum + windows.taps + kLanes - 1) / kLanes * kLanes, transposed_.data()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return filter_avx2(pass, lines, begin, end, out);
#endif
  filter(pass, lines, begin, end, out);
}

void PlaneColumns::prepare(const Axis& axis, int left) {
  first_ = (left + axis.first()) / 2 * 2;
  last_ = left + axis.last();
  mirrored_ = axis.side().mirrored;
  outputs_ = axis.outputs();
  int taps = 0;
  for (int x = 0; x < outputs_; ++x) taps = std::max(taps, axis.count(x));
  columns_.prepare(taps, room());
  pairs_.prepare(taps / 2 + 1, room());
  both_.resize(static_cast<size_t>(taps / 2 + 1));
  transposed_.resize(static_cast<size_t>(last_ - first_ + spare()) * kLanes);
  for (int x = 0; x < room(); ++x) {
    const int at = std::min(x, outputs_ - 1);
    const int begin = left + axis.begin(at) - first_, count = axis.count(at);
    const int pairs = (begin + count + 1) / 2 - begin / 2;
    std::fill(both_.begin(), both_.end(), 0);
    for (int k = 0; k < count; ++k) both_[static_cast<size_t>((begin + k) / 2 - begin / 2)] += axis.of(at)[k];
    columns_.set(x, begin, count, axis.of(at));
    pairs_.set(x, begin / 2, pairs, both_.data());
  }
}

void PlaneColumns::to_outputs(int* begin, int* end) const {
  const int taps = columns_.taps;
  const auto before = [&](int32_t window) { return window + taps <= *begin; };
  const auto behind = [&](int32_t window) { return window < *end; };
  const std::vector<int32_t>& begins = columns_.begins;
  const auto index = [](auto from, auto to) { return static_cast<int>(to - from); };
  int from, to;
  if (mirrored_) {
    to = index(begins.rbegin(), std::partition_point(begins.rbegin(), begins.rend(), before));
    from = index(begins.rbegin(), std::partition_point(begins.rbegin(), begins.rend(), behind));
    from = room() - from, to = room() - to;
  } else {
    from = index(begins.begin(), std::partition_point(begins.begin(), begins.end(), before));
    to = index(begins.begin(), std::partition_point(begins.begin(), begins.end(), behind));
  }
  *begin = from, *end = to;
}

}  // namespace ferry::image
