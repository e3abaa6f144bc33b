#include "sdk/cpu/gemm_avx512.h"

#if defined(__x86_64__) && defined(__gnu_linux__)

#include <immintrin.h>
#include <pthreadpool.h>

#include <algorithm>
#include <utility>

#include "sdk/cpu/weights_cache.h"

namespace ferry::cpu {
namespace {

constexpr size_t kRows = 12, kColumns = 32;  // of a tile: 24 of the 32 registers add up
constexpr size_t kPanelBytes = 256 << 10;    // weights that stay in the L2 cache while all rows pass
constexpr size_t kTasks = 16;                // enough to share out among a phone's or a laptop's cores

// Rows of x times a slab: 32 biases, then 32 weights for each input. `columns`: how many of them y has.
template <size_t R>
[[gnu::target("avx512f")]] void tile(const float* x, size_t inputs, const float* slab, float* y, size_t stride,
                                     size_t columns, float low, float high) {
  __m512 sum[R][2];
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < 2; ++j) sum[i][j] = _mm512_load_ps(slab + 16 * j);
  const float* w = slab + kColumns;
  for (size_t k = 0; k < inputs; ++k, w += kColumns) {
    _mm_prefetch(reinterpret_cast<const char*>(w + 8 * kColumns), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(w + 8 * kColumns + 16), _MM_HINT_T0);
    const __m512 w0 = _mm512_load_ps(w), w1 = _mm512_load_ps(w + 16);
#pragma GCC unroll 12
    for (size_t i = 0; i < R; ++i) {
      const __m512 value = _mm512_set1_ps(x[i * inputs + k]);
      sum[i][0] = _mm512_fmadd_ps(value, w0, sum[i][0]);
      sum[i][1] = _mm512_fmadd_ps(value, w1, sum[i][1]);
    }
  }
  const __m512 least = _mm512_set1_ps(low), most = _mm512_set1_ps(high);
  for (size_t j = 0; j < 2 && columns > 16 * j; ++j) {
    const size_t left = std::min<size_t>(columns - 16 * j, 16);
    const auto mask = static_cast<__mmask16>((1u << left) - 1);
    for (size_t i = 0; i < R; ++i) {
      const __m512 raised = sum[i][j] < least ? least : sum[i][j];
      _mm512_mask_storeu_ps(y + i * stride + 16 * j, mask, raised > most ? most : raised);
    }
  }
}

using Tile = void (*)(const float*, size_t, const float*, float*, size_t, size_t, float, float);
constexpr auto kTiles = []<size_t... R>(std::index_sequence<R...>) {
  return std::array<Tile, sizeof...(R)>{tile<R + 1>...};
}
(std::make_index_sequence<kRows>());

size_t slabs_of(const Gemm& gemm) { return (gemm.outputs + kColumns - 1) / kColumns; }
size_t slab_size(size_t inputs) { return (inputs + 1) * kColumns; }

void pack(const Gemm& gemm, const float* weight, const float* bias, float* to) {
  for (size_t slab = 0; slab < slabs_of(gemm); ++slab, to += slab_size(gemm.inputs)) {
    for (size_t j = 0; j < kColumns; ++j) {
      const size_t o = slab * kColumns + j;
      const bool exists = o < gemm.outputs;
      to[j] = exists && bias != nullptr ? bias[o] : 0.0f;
      for (size_t k = 0; k < gemm.inputs; ++k) to[(k + 1) * kColumns + j] = exists ? weight[o * gemm.inputs + k] : 0.0f;
    }
  }
}

class GemmAvx512 : public Op {
 public:
  explicit GemmAvx512(const Gemm& gemm) : gemm_(gemm) {}

  Status create(const Model& model, const fbs::Operator& op) {
    FloatConstant weight, bias;
    FERRY_TRY(constant_input(model, op, 1, &weight));
    FERRY_TRY(constant_input(model, op, 2, &bias));
    WeightsCache::Creation creation(model.weights_cache(), &op);
    bool fresh = false;
    float* memory =
        static_cast<float*>(creation.own(slabs_of(gemm_) * slab_size(gemm_.inputs) * sizeof(float), &fresh));
    if (memory == nullptr) return error(FERRY_OUT_OF_MEMORY, "no memory for packed weights");
    if (fresh) pack(gemm_, weight.data, bias.data, memory);
    packed_ = memory;
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    rows_ = elements(inputs[0], 0, inputs[0].rank - 1);
    panel_ = std::max<size_t>(kPanelBytes / (slab_size(gemm_.inputs) * sizeof(float)), 1);
    const size_t panels = (slabs_of(gemm_) + panel_ - 1) / panel_;
    const size_t blocks = (kTasks + panels - 1) / panels;
    block_ = ((rows_ + blocks - 1) / blocks + kRows - 1) / kRows * kRows;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    x_ = floats(inputs[0]);
    y_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    const auto task = [](void* self, size_t slab, size_t row, size_t slabs, size_t rows) {
      static_cast<GemmAvx512*>(self)->compute(slab, row, slabs, rows);
    };
    pthreadpool_parallelize_2d_tile_2d(pool, task, this, slabs_of(gemm_), std::max<size_t>(rows_, 1), panel_, block_,
                                       PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return {};
  }

 private:
  void compute(size_t first_slab, size_t first_row, size_t slabs, size_t rows) const {
    for (size_t row = first_row; row < first_row + rows; row += kRows) {
      const size_t height = std::min(kRows, first_row + rows - row);
      for (size_t slab = first_slab; slab < first_slab + slabs; ++slab) {
        const size_t column = slab * kColumns;
        kTiles[height - 1](x_ + row * gemm_.inputs, gemm_.inputs, packed_ + slab * slab_size(gemm_.inputs),
                           y_ + row * gemm_.outputs + column, gemm_.outputs, std::min(kColumns, gemm_.outputs - column),
                           gemm_.output_min, gemm_.output_max);
      }
    }
  }

  Gemm gemm_;
  const float* packed_ = nullptr;
  size_t rows_ = 0, panel_ = 1, block_ = kRows;  // a task: slabs and rows
  const float* x_ = nullptr;
  float* y_ = nullptr;
};

}  // namespace

bool gemm_avx512_pays(size_t rows, const Gemm& gemm) {
  return rows >= 2 * kRows && gemm.outputs >= kColumns && __builtin_cpu_supports("avx512f");
}

Status create_gemm_avx512(const Model& model, const fbs::Operator& op, const Gemm& gemm, std::unique_ptr<Op>* out) {
  auto created = std::make_unique<GemmAvx512>(gemm);
  FERRY_TRY(created->create(model, op));
  *out = std::move(created);
  return {};
}

}  // namespace ferry::cpu

#else

namespace ferry::cpu {

bool gemm_avx512_pays(size_t, const Gemm&) { return false; }
Status create_gemm_avx512(const Model&, const fbs::Operator&, const Gemm&, std::unique_ptr<Op>*) { return {}; }

}  // namespace ferry::cpu

#endif
