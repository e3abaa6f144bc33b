#include "sdk/cpu/ops/attention_in_place.h"

#include <algorithm>
#include <limits>

#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/exponential.h"
#include "sdk/cpu/gemm/products.h"

namespace ferry::cpu {
namespace {

constexpr size_t kRun = 128;    // keys whose scores are held at a time
constexpr size_t kWide = 4096;  // elements that are converted at a time
constexpr size_t kBytes = 4 * kParts;
typedef float Wide __attribute__((vector_size(kBytes), aligned(4), may_alias));

// A lane is one query of one head. Lanes that share keys are contiguous, padded to a multiple of kParts.
struct Lanes {
  size_t heads, each, count, padded;
};

Lanes lanes_of(const FewQueries& a, size_t heads) {
  const size_t each = a.group * a.queries, count = heads * each;
  return {heads, each, count, (count + kParts - 1) / kParts * kParts};
}

// Partial sums of a dot product, each of four elements in four positions.
[[gnu::always_inline]] inline Quad partial_product(const float* q, const float* key, size_t size) {
  Wide sums = {};
  const size_t whole = size / kParts * kParts;
  for (size_t d = 0; d < whole; d += kParts)
    sums += *reinterpret_cast<const Wide*>(q + d) * *reinterpret_cast<const Wide*>(key + d);
  for (size_t d = whole; d < size; ++d) sums[d - whole] += q[d] * key[d];
  const Quad* quads = reinterpret_cast<const Quad*>(&sums);
  return (quads[0] + quads[1]) + (quads[2] + quads[3]);
}

// scores[s][lane] = q[lane] . key s. `keys`: the first key, for the task's heads.
FERRY_KERNEL void score(const float* q, const float* keys, size_t stride, size_t size, const Lanes& lanes, size_t count,
                        float* scores) {
  for (size_t s = 0; s < count; ++s, keys += stride, scores += lanes.padded) {
    Quad parts[4] = {};
    size_t lane = 0;
    for (size_t h = 0; h < lanes.heads; ++h) {
      for (size_t i = 0; i < lanes.each; ++i, ++lane) {
        parts[lane % 4] = partial_product(q + lane * size, keys + h * size, size);
        if (lane % 4 < 3 && lane + 1 < lanes.count) continue;
        float columns[16];
        transpose_square(reinterpret_cast<const float*>(parts), 4, columns, 4);
        const Quad* quads = reinterpret_cast<const Quad*>(columns);
        *reinterpret_cast<Quad*>(scores + lane / 4 * 4) = (quads[0] + quads[1]) + (quads[2] + quads[3]);
      }
    }
    for (lane = (lane + 3) / 4 * 4; lane < lanes.padded; ++lane) scores[lane] = 0;
  }
}

// Replaces scores by e^(score - maximum). If the maximum grows, the sums so far are scaled by `rescale`.
FERRY_KERNEL void weigh(float* __restrict scores, size_t count, size_t lanes, float* __restrict maximum,
                        float* __restrict sums, float* __restrict rescale) {
  for (size_t l = 0; l < lanes; ++l) rescale[l] = maximum[l];
  for (size_t s = 0; s < count; ++s)
    for (size_t l = 0; l < lanes; ++l)
      maximum[l] = scores[s * lanes + l] > maximum[l] ? scores[s * lanes + l] : maximum[l];
  for (size_t l = 0; l < lanes; ++l) {
    rescale[l] = softmax_exponential(rescale[l] - maximum[l]);
    sums[l] *= rescale[l];
  }
  for (size_t s = 0; s < count; ++s) {
    float* row = scores + s * lanes;
    for (size_t l = 0; l < lanes; ++l) {
      row[l] = softmax_exponential(row[l] - maximum[l]);
      sums[l] += row[l];
    }
  }
}

// y[lane] = rescale[lane] * y[lane]
FERRY_KERNEL void scale_rows(const float* __restrict rescale, size_t rows, size_t size, float* __restrict y) {
  for (size_t row = 0; row < rows; ++row)
    for (size_t d = 0; d < size; ++d) y[row * size + d] *= rescale[row];
}

// y[lane] += sum over s of weights[s][lane] * value s.
FERRY_KERNEL void accumulate(const float* weights, const float* values, size_t stride, size_t size, const Lanes& lanes,
                             size_t count, float* y) {
  for (size_t s = 0; s < count; ++s, values += stride, weights += lanes.padded) {
    float* to = y;
    size_t lane = 0;
    for (size_t h = 0; h < lanes.heads; ++h) {
      for (size_t i = 0; i < lanes.each; ++i, ++lane, to += size) {
        const float* value = values + h * size;
        const float weight = weights[lane];
        FERRY_INDEPENDENT for (size_t d = 0; d < size; ++d) to[d] += weight * value[d];
      }
    }
  }
}

// Masks those of `count` keys from `begin` that a query does not attend to.
void hide(const FewQueries& a, const Lanes& lanes, size_t begin, size_t count, float* scores) {
  for (size_t i = 0; i < a.queries; ++i) {
    const size_t end = a.keys - a.queries + i + 1, first = a.window > 0 && end > a.window ? end - a.window : 0;
    if (first <= begin && end >= begin + count) continue;
    for (size_t s = begin; s < begin + count; ++s)
      for (size_t lane = i; (s < first || s >= end) && lane < lanes.count; lane += a.queries)
        scores[(s - begin) * lanes.padded + lane] = -std::numeric_limits<float>::infinity();
  }
}

// Rows of `heads` heads from `first_head`, each of `size` elements, of keys from `begin` on: where they are, or as many
// converted as stay in the L1 cache.
struct Rows {
  const float* data;
  size_t stride, count;
};

[[gnu::noinline, gnu::cold]] Rows rows_of(const FewQueries& a, const void* state, const StateElements& stored,
                                          size_t size, size_t begin, size_t count, size_t first_head, size_t heads,
                                          float* wide) {
  const size_t row = a.kv_heads * size, at = (a.first_key + begin) * row + first_head * size, part = heads * size;
  if (!stored.fewer_bits()) return {static_cast<const float*>(state) + at, row, count};
  count = std::min(count, std::max<size_t>(kWide / part, 1));
  for (size_t i = 0; i < count; ++i) stored.load(state, at + i * row, part, wide + i * part);
  return {wide, part, count};
}

}  // namespace

FERRY_KERNEL void cap(float* scores, size_t count, float softcap) {
  for (size_t i = 0; i < count; ++i) scores[i] = softcap * hyperbolic_tangent(scores[i] / softcap);
}

uint64_t FewQueries::scratch(size_t heads) const {
  const Lanes lanes = lanes_of(*this, heads);
  const size_t row = heads * std::max(key_size, value_size);
  const size_t wide = keys_stored.fewer_bits() || values_stored.fewer_bits() ? std::max(kWide, row) : 0;
  return uint64_t{lanes.count} * (key_size + value_size) + uint64_t{kRun + 3} * lanes.padded + wide;
}

void attend_in_place(const FewQueries& a, size_t first_head, size_t heads, float* scratch) {
  const Lanes lanes = lanes_of(a, heads);
  float *scores = scratch, *maximum = scores + kRun * lanes.padded, *sums = maximum + lanes.padded;
  float *rescale = sums + lanes.padded, *q = rescale + lanes.padded, *y = q + lanes.count * a.key_size;
  float* wide = y + lanes.count * a.value_size;
  const size_t all_heads = a.kv_heads * a.group;
  const auto head_of = [&](size_t lane) { return first_head * a.group + lane / a.queries; };
  // finite, since keys may be masked by -infinity
  std::fill_n(maximum, lanes.padded, std::numeric_limits<float>::lowest());
  std::fill_n(sums, lanes.padded, 0.0f);
  std::fill_n(y, lanes.count * a.value_size, 0.0f);
  for (size_t lane = 0; lane < lanes.count; ++lane) {
    const float* from = a.q + (lane % a.queries * all_heads + head_of(lane)) * a.key_size;
    for (size_t d = 0; d < a.key_size; ++d) q[lane * a.key_size + d] = a.scale * from[d];
    if (a.sinks == nullptr) continue;
    maximum[lane] = a.sinks[head_of(lane)];  // like the score of a key before the first
    sums[lane] = 1.0f;
  }
  const size_t first_seen = a.keys - a.queries + 1;  // keys that the first query attends to
  const size_t start = a.window > 0 && first_seen > a.window ? first_seen - a.window : 0;
  for (size_t begin = start; begin < a.keys; begin += kRun) {
    const size_t count = std::min(kRun, a.keys - begin);
    for (size_t s = 0; s < count;) {
      const Rows keys = rows_of(a, a.k, a.keys_stored, a.key_size, begin + s, count - s, first_head, heads, wide);
      score(q, keys.data, keys.stride, a.key_size, lanes, keys.count, scores + s * lanes.padded);
      s += keys.count;
    }
    if (a.softcap > 0) cap(scores, count * lanes.padded, a.softcap);
    hide(a, lanes, begin, count, scores);
    weigh(scores, count, lanes.padded, maximum, sums, rescale);
    scale_rows(rescale, lanes.count, a.value_size, y);
    for (size_t s = 0; s < count;) {
      const Rows values = rows_of(a, a.v, a.values_stored, a.value_size, begin + s, count - s, first_head, heads, wide);
      accumulate(scores + s * lanes.padded, values.data, values.stride, a.value_size, lanes, values.count, y);
      s += values.count;
    }
  }
  for (size_t lane = 0; lane < lanes.count; ++lane) {
    float* to = a.y + (lane % a.queries * all_heads + head_of(lane)) * a.value_size;
    for (size_t d = 0; d < a.value_size; ++d) to[d] = y[lane * a.value_size + d] / sums[lane];
  }
}

}  // namespace ferry::cpu
