#include "sdk/cpu/gemm/linear_int4.h"

#if FERRY_HAS_LINEAR_INT4

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "sdk/cpu/backend/parallel.h"

namespace ferry::cpu {
namespace {

constexpr size_t kRowsAtOnce = 8;
constexpr size_t kInt4Tasks = 64;
constexpr int kZeroPoint = 8;
constexpr size_t kPrefetchBytes = 2048;  // for a single row, which is bound by memory

float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// Four 8-bit inputs as the bits of an integer.
inline int32_t four(const int8_t* inputs) {
  int32_t number;
  std::memcpy(&number, inputs, sizeof number);
  return number;
}

}  // namespace

bool LinearInt4::pays(const CpuFeatures& cpu, const Type& weight) {
  return cpu.avx512_vnni && weight.dtype == fbs::DType::Int4 && weight.block == kBlock;
}

// A panel: the nibbles of its blocks, the blocks' scales, the bias, and for each output the sum of its weights.
size_t LinearInt4::panel_bytes() const {
  const size_t blocks = inputs_ / kBlock, block = kGroups * kNr * 4 + kNr * sizeof(uint16_t);
  return (blocks * block + 2 * kNr * sizeof(float) + kAlignment - 1) / kAlignment * kAlignment;
}

Status LinearInt4::create(const StoredConstant& weight, WeightSource& source) {
  const auto* scales = reinterpret_cast<const uint16_t*>(weight.scales.data());
  constexpr uint16_t kSmallestNormal = 0x80, kInfinity = 0x7f80;
  const auto has_kernel = [](uint16_t bits) { return bits >= kSmallestNormal && bits < kInfinity; };
  if (!std::all_of(scales, scales + outputs_ * (inputs_ / kBlock), has_kernel))  // XNNPACK's kernels require this, too
    return error(FERRY_UNSUPPORTED, "scales must be positive and normal");
  const auto fill = [&](std::byte* to) -> Status {
    const void* nibbles = nullptr;
    const float* bias = nullptr;
    FERRY_TRY(source.load(&nibbles, &bias));
    for (size_t panel = 0; panel < panels(); ++panel, to += panel_bytes())
      pack(static_cast<const uint8_t*>(nibbles), scales, bias, panel, to);
    return {};
  };
  return source.packed(PackingId("linear_int4_vnni", 1), 0, panels() * panel_bytes(), fill, &packed_);
}

// A vector of nibbles holds four inputs of each output in its lower nibbles, and the four inputs 16 positions later in
// its upper ones.
void LinearInt4::pack(const uint8_t* nibbles, const uint16_t* scales, const float* bias, size_t panel,
                      std::byte* to) const {
  std::memset(to, 0, panel_bytes());
  const size_t blocks = inputs_ / kBlock;
  auto* bytes = reinterpret_cast<uint8_t*>(to);
  auto* to_scales = reinterpret_cast<uint16_t*>(bytes + blocks * kGroups * kNr * 4);
  auto* to_bias = reinterpret_cast<float*>(to_scales + blocks * kNr);
  for (size_t lane = 0; lane < std::min(kNr, outputs_ - panel * kNr); ++lane) {
    const size_t output = panel * kNr + lane;
    const uint8_t* from = nibbles + output * inputs_ / 2;
    double all = 0;
    for (size_t b = 0; b < blocks; ++b) {
      const uint16_t scale = scales[output * blocks + b];
      int sum = 0;
      for (size_t k = 0; k < kBlock; ++k) {
        const uint8_t pair = from[(b * kBlock + k) / 2];
        const auto nibble = static_cast<uint8_t>(k % 2 == 0 ? pair & 15 : pair >> 4);
        const size_t group = k / 4 % kGroups, shift = k < kBlock / 2 ? 0 : 4;
        bytes[((b * kGroups + group) * kNr + lane) * 4 + k % 4] |= static_cast<uint8_t>(nibble << shift);
        sum += nibble - kZeroPoint;
      }
      to_scales[b * kNr + lane] = scale;
      all += sum * static_cast<double>(from_bfloat16(scale));
    }
    to_bias[lane] = bias != nullptr ? bias[output] : 0.0f;
    to_bias[kNr + lane] = static_cast<float>(all);
  }
}

// y = d (sum of s (n - 8) q - z sum of s (n - 8)) + bias, with nibbles n, scales s, and rows q of scale d and zero
// point z.
template <size_t R>
[[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]] void LinearInt4::compute(const Rows& rows, size_t row,
                                                                                 size_t panel, float* y) const {
  constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the forms without a mask
  const size_t blocks = inputs_ / kBlock;
  const auto* nibbles = reinterpret_cast<const uint8_t*>(packed_.get()) + panel * panel_bytes();
  const auto* scales = reinterpret_cast<const uint16_t*>(nibbles + blocks * kGroups * kNr * 4);
  const auto* bias = reinterpret_cast<const float*>(scales + blocks * kNr);
  const int8_t* x = rows.values + row * inputs_;
  const int32_t* sums = rows.sums + row * blocks;
  const __m512i low = _mm512_set1_epi8(15);
  __m512 total[R];
#pragma GCC unroll 8
  for (size_t i = 0; i < R; ++i) total[i] = _mm512_setzero_ps();
  for (size_t b = 0; b < blocks; ++b, nibbles += kGroups * kNr * 4, scales += kNr, x += kBlock) {
    __m512i first[kGroups], second[kGroups];
#pragma GCC unroll 4
    for (size_t g = 0; g < kGroups; ++g) {
      if constexpr (R == 1) _mm_prefetch(nibbles + kPrefetchBytes + g * kNr * 4, _MM_HINT_T0);
      const __m512i both = _mm512_loadu_si512(nibbles + g * kNr * 4);
      first[g] = _mm512_and_si512(both, low);
      second[g] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
    }
    const __m256i stored = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales));
    const __m512 scale =
        _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, _mm512_maskz_cvtepu16_epi32(kAll, stored), 16));
#pragma GCC unroll 8
    for (size_t i = 0; i < R; ++i) {
      const int8_t* inputs = x + i * inputs_;
      __m512i sum = _mm512_set1_epi32(sums[i * blocks + b]), other = _mm512_setzero_si512();
#pragma GCC unroll 4
      for (size_t g = 0; g < kGroups; ++g) {
        sum = _mm512_dpbusd_epi32(sum, first[g], _mm512_set1_epi32(four(inputs + 4 * g)));
        other = _mm512_dpbusd_epi32(other, second[g], _mm512_set1_epi32(four(inputs + kBlock / 2 + 4 * g)));
      }
      total[i] = _mm512_fmadd_ps(scale, _mm512_maskz_cvtepi32_ps(kAll, _mm512_add_epi32(sum, other)), total[i]);
    }
  }
  const size_t count = std::min(kNr, outputs_ - panel * kNr);
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  const __m512 minimum = _mm512_set1_ps(min_), maximum = _mm512_set1_ps(max_);
  const __m512 weights = _mm512_loadu_ps(bias + kNr), constant = _mm512_loadu_ps(bias);
#pragma GCC unroll 8
  for (size_t i = 0; i < R; ++i) {
    const xnn_quantization_params& step = rows.steps[row + i];
    const __m512 zero = _mm512_set1_ps(static_cast<float>(step.zero_point));
    const __m512 sum = _mm512_fnmadd_ps(zero, weights, total[i]);
    const __m512 value = _mm512_fmadd_ps(_mm512_set1_ps(step.scale), sum, constant);
    _mm512_mask_storeu_ps(y + (row + i) * outputs_ + panel * kNr, mask,
                          _mm512_maskz_min_ps(kAll, maximum, _mm512_maskz_max_ps(kAll, minimum, value)));
  }
}

void LinearInt4::run(const Rows& rows, float* y, Pool* pool) const {
  const size_t blocks = inputs_ / kBlock;
  parallel_rows(pool, rows.count, inputs_, [&](size_t begin, size_t end) {
    for (size_t i = begin * blocks; i < end * blocks; ++i) {
      int32_t sum = 0;
      for (size_t k = 0; k < kBlock; ++k) sum += rows.values[i * kBlock + k];
      rows.sums[i] = -kZeroPoint * sum;
    }
  });
  using Compute = void (LinearInt4::*)(const Rows&, size_t, size_t, float*) const;
  static constexpr auto kCompute = []<size_t... R>(std::index_sequence<R...>) {
    return std::array<Compute, sizeof...(R)>{&LinearInt4::compute<R + 1>...};
  }
  (std::make_index_sequence<kRowsAtOnce>());
  parallel_for(pool, panels(), (panels() + kInt4Tasks - 1) / kInt4Tasks, [&](size_t begin, size_t end) {
    for (size_t panel = begin; panel < end; ++panel)
      for (size_t row = 0; row < rows.count; row += kRowsAtOnce)
        (this->*kCompute[std::min(kRowsAtOnce, rows.count - row) - 1])(rows, row, panel, y);
  });
}

}  // namespace ferry::cpu

#endif
