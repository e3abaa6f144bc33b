#include "sdk/cpu/gemm_avx512.h"

#if defined(__x86_64__) && defined(__gnu_linux__)

#include <immintrin.h>
#include "sdk/threads/pool.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sdk/cpu/parallel.h"
#include "sdk/cpu/unary.h"

namespace ferry::cpu {
namespace {

constexpr size_t kLanes = 16;
constexpr size_t kRows = 12, kColumns = 2 * kLanes;  // of a tile: 24 of the 32 registers add up
constexpr size_t kDepth = 768;             // inputs that are multiplied at once: the L1 cache holds them for a tile
constexpr size_t kPanelBytes = 256 << 10;  // weights that stay in the L2 cache while all rows pass
constexpr uint32_t kLayoutVersion = 1;     // of packed weights
constexpr size_t kTasks = 16;              // enough to share out among a phone's or a laptop's cores

struct Tile {
  const float* x;  // rows, `x_stride` apart
  size_t x_stride, inputs;
  const float* start;  // what products are added to: for each row, `start_stride` apart
  size_t start_stride;
  const float* weights;
  float* y;
  size_t y_stride, columns;  // columns: how many of the slab's y has
  float low, high;
  const char* next;  // what the L2 cache takes meanwhile, `next_step` bytes for each input
  size_t next_step;
};

template <size_t R, size_t V>
[[gnu::target("avx512f")]] void compute(const Tile& tile) {
  constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the forms without a mask
  __m512 sum[R][V], w[V];
  __mmask16 mask[V];
#pragma GCC unroll 2
  for (size_t j = 0; j < V; ++j) {
    const size_t left = std::min(tile.columns - kLanes * j, kLanes);
    mask[j] = static_cast<__mmask16>((1u << left) - 1);
#pragma GCC unroll 12
    for (size_t i = 0; i < R; ++i)
      sum[i][j] = _mm512_maskz_loadu_ps(mask[j], tile.start + i * tile.start_stride + kLanes * j);
  }
  const float* weights = tile.weights;
  const char* next = tile.next;
  // Addresses of three rows each: gcc would keep those of all in too few registers.
  constexpr size_t kBases = (R + 2) / 3;
  const size_t stride = tile.x_stride;
  const float* x[kBases];
#pragma GCC unroll 4
  for (size_t i = 0; i < kBases; ++i) x[i] = tile.x + 3 * i * stride;
  for (size_t k = 0; k < tile.inputs; ++k, weights += V * kLanes, next += tile.next_step) {
    _mm_prefetch(next, _MM_HINT_T1);
    for (size_t j = 0; j < V; ++j) {
      _mm_prefetch(reinterpret_cast<const char*>(weights + (8 * V + j) * kLanes), _MM_HINT_T0);
      w[j] = _mm512_load_ps(weights + kLanes * j);
    }
#pragma GCC unroll 12
    for (size_t i = 0; i < R; ++i) {
      const __m512 value = _mm512_set1_ps(x[i / 3][i % 3 * stride]);
      for (size_t j = 0; j < V; ++j) sum[i][j] = _mm512_fmadd_ps(value, w[j], sum[i][j]);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < kBases; ++i) {
      ++x[i];
      asm volatile("" : "+r"(x[i]));
    }
  }
  const __m512 minimum = _mm512_set1_ps(tile.low), maximum = _mm512_set1_ps(tile.high);
#pragma GCC unroll 2
  for (size_t j = 0; j < V; ++j)
#pragma GCC unroll 12
    for (size_t i = 0; i < R; ++i)  // a NaN passes
      _mm512_mask_storeu_ps(tile.y + i * tile.y_stride + kLanes * j, mask[j],
                            _mm512_maskz_min_ps(kAll, maximum, _mm512_maskz_max_ps(kAll, minimum, sum[i][j])));
}

using Compute = void (*)(const Tile&);
template <size_t V>
constexpr auto kCompute = []<size_t... R>(std::index_sequence<R...>) {
  return std::array<Compute, sizeof...(R)>{compute<R + 1, V>...};
}
(std::make_index_sequence<kRows>());

class GemmAvx512 : public Op {
 public:
  explicit GemmAvx512(const Gemm& gemm) : gemm_(gemm) {
    const size_t inputs = std::min(gemm.inputs, kDepth);
    const size_t fitting = std::max<size_t>(kPanelBytes / (inputs * kColumns * sizeof(float)), 1);
    const size_t minimum = (slabs() + fitting - 1) / fitting;
    panel_ = (slabs() + minimum - 1) / minimum;
    panels_ = (slabs() + panel_ - 1) / panel_;
  }

  Status create(WeightSource& source) {
    const PackingId id =
        PackingId("gemm_avx512", kLayoutVersion).add(gemm_.groups).add(gemm_.inputs).add(gemm_.outputs);
    const auto fill = [&](const float* weight, const float* bias, float* to) { pack(weight, bias, to); };
    FERRY_TRY(source.packed_floats(id, packed_bytes(), fill, &held_));
    packed_ = floats(held_.get());
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    rows_ = elements(inputs[0], 0, inputs[0].rank - 1);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    x_ = floats(inputs[0]);
    y_ = floats(output);
    return {};
  }

  Status run(Pool* pool) override {
    const size_t products = gemm_.groups * panels_, blocks = (kTasks + products - 1) / products;
    const size_t block = ((rows_ + blocks - 1) / blocks + kRows - 1) / kRows * kRows;
    const Grid<2, 1> grid{{products, rows_}, {block}};
    parallel(pool, grid, [&](Pool::Share&, size_t panel, size_t row, size_t rows) {
      const size_t group = panel / panels_;
      multiply(group, panel % panels_, x_ + row * x_stride() + group * gemm_.inputs,
               y_ + row * y_stride() + group * gemm_.outputs, rows, 0, gemm_.inputs);
    });
    return {};
  }

  bool fuse(const CpuFeatures& cpu, const fbs::Unary& next) override {
    after_ = elementwise(cpu, next);
    return static_cast<bool>(after_);
  }

 protected:
  size_t slabs() const { return (gemm_.outputs + kColumns - 1) / kColumns; }
  size_t packed_bytes() const { return gemm_.groups * group_size() * sizeof(float); }
  size_t x_stride() const { return gemm_.groups * gemm_.inputs; }
  size_t y_stride() const { return gemm_.groups * gemm_.outputs; }

  // A panel's outputs for rows of a group, whose inputs are zeros but for those of [from, to). Many inputs are
  // multiplied in turns, which add to the outputs.
  void multiply(size_t group, size_t panel, const float* x, float* y, size_t rows, size_t from, size_t to) const {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    const float* packed = packed_ + group * group_size();
    const size_t begin = panel * panel_, end = std::min(begin + panel_, slabs());
    const size_t first = begin * kColumns, last = std::min(end * kColumns, gemm_.outputs);
    const size_t blocks = (rows + kRows - 1) / kRows;  // alike in height, as small ones are slow
    const size_t turns = std::max<size_t>((to - from + kDepth - 1) / kDepth, 1);
    for (size_t turn = 0; turn < turns; ++turn) {
      const size_t low = from + (to - from) * turn / turns, high = from + (to - from) * (turn + 1) / turns;
      const bool initial = turn == 0, final = turn + 1 == turns;
      for (size_t block = 0; block < blocks; ++block) {
        const size_t row = rows * block / blocks, height = rows * (block + 1) / blocks - row;
        for (size_t slab = begin; slab < end; ++slab) {
          const size_t column = slab * kColumns, columns = std::min(kColumns, gemm_.outputs - column);
          const size_t width = columns > kLanes ? kColumns : kLanes;
          const float* bias = packed + slab * slab_size();
          float* to_y = y + row * y_stride() + column;
          // What comes next, this slab's other inputs or a slab of the next panel: the blocks share out fetching it, as
          // more at once would keep the L1 cache waiting.
          const float* next = final ? bias + panel_ * slab_size() + (1 + from) * kColumns : bias + (1 + high) * width;
          const bool fetch = !final || slab + panel_ < slabs();
          const size_t step = fetch ? (kColumns * sizeof(float) + blocks - 1) / blocks : 0;
          const Tile tile{.x = x + row * x_stride() + low,
                          .x_stride = x_stride(),
                          .inputs = high - low,
                          .start = initial ? bias : to_y,
                          .start_stride = initial ? 0 : y_stride(),
                          .weights = bias + (1 + low) * width,
                          .y = to_y,
                          .y_stride = y_stride(),
                          .columns = columns,
                          .low = final ? gemm_.output_min : -kNone,
                          .high = final ? gemm_.output_max : kNone,
                          .next = reinterpret_cast<const char*>(fetch ? next : bias) + block * (high - low) * step,
                          .next_step = step};
          (columns > kLanes ? kCompute<2> : kCompute<1>)[height - 1](tile);
        }
        for (size_t i = row; final && after_ && i < row + height; ++i)
          after_(y + i * y_stride() + first, y + i * y_stride() + first, last - first);
      }
    }
  }

  Gemm gemm_;
  size_t panel_ = 1, panels_ = 1;  // slabs that stay in the cache while rows pass
  const float* x_ = nullptr;
  float* y_ = nullptr;

 private:
  // Weights are cut into slabs of kColumns outputs; the last of a group may have kLanes.
  size_t slab_size() const { return (gemm_.inputs + 1) * kColumns; }
  size_t group_size() const { return (gemm_.inputs + 1) * ((gemm_.outputs + kLanes - 1) / kLanes * kLanes); }

  void pack(const float* weight, const float* bias, float* to) const {
    for (size_t group = 0; group < gemm_.groups; ++group) {
      for (size_t begin = 0; begin < gemm_.outputs; begin += kColumns) {
        const size_t columns = gemm_.outputs - begin > kLanes ? kColumns : kLanes;
        for (size_t j = 0; j < columns; ++j) {
          const bool exists = begin + j < gemm_.outputs;
          const size_t o = group * gemm_.outputs + begin + j;
          to[j] = exists && bias != nullptr ? bias[o] : 0.0f;
          for (size_t k = 0; k < gemm_.inputs; ++k)
            to[(k + 1) * columns + j] = exists ? weight[o * gemm_.inputs + k] : 0.0f;
        }
        to += (gemm_.inputs + 1) * columns;
      }
    }
  }

  Elementwise after_;
  PackedBytes held_;
  const float* packed_ = nullptr;
  size_t rows_ = 0;
};

[[gnu::target("avx512f")]] inline void copy(const float* from, size_t count, float* to) {
  for (; count >= kLanes; count -= kLanes, from += kLanes, to += kLanes) _mm512_storeu_ps(to, _mm512_loadu_ps(from));
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  _mm512_mask_storeu_ps(to, mask, _mm512_maskz_loadu_ps(mask, from));
}

// A task copies the windows under the kernel at some pixels into rows of its thread's own memory and multiplies these.
class ConvAvx512 : public GemmAvx512 {
 public:
  ConvAvx512(const Gemm& gemm, const fbs::Conv2d& params, const Shape& weight)
      : GemmAvx512(gemm), params_(params), kernel_h_(weight[1]), kernel_w_(weight[2]) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    // Weights that do not fit the L2 cache are read anew for every task: fewer tasks, which share out the outputs, too.
    const bool large = packed_bytes() > kLargeBytes;
    input_shape_ = inputs[0];
    output_shape_ = output;
    windows_ = elements(output, 0, 3);
    const size_t maximum = large ? 5 * kRows : 2 * kRows, blocks = (windows_ + maximum - 1) / maximum;
    block_ = (windows_ + blocks - 1) / blocks;
    share_ = large ? (kNarrowest + panel_ - 1) / panel_ : panels_;
    *workspace = pool->threads() * block_ * gemm_.inputs * sizeof(float);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    x_ = floats(inputs[0]);
    y_ = floats(output);
    copies_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    const Grid<2, 0> grid{{(panels_ + share_ - 1) / share_, (windows_ + block_ - 1) / block_}};
    parallel(pool, grid, [&](Pool::Share& part, size_t share, size_t block) { compute(part.thread(), share, block); });
    return {};
  }

 private:
  static constexpr size_t kLargeBytes = 512 << 10, kNarrowest = 4;  // slabs that a task has at least

  void compute(size_t thread, size_t share, size_t block) const {
    const size_t first = block * block_, count = std::min(block_, windows_ - first);
    float* copies = copies_ + thread * block_ * gemm_.inputs;
    const auto [begin, end] = kernel_rows(first, count);
    read_windows(first, count, begin, end, copies);
    // The columns of a single row, too.
    const auto [left, right] = end - begin == 1 ? kernel_columns() : std::pair<int64_t, int64_t>(0, kernel_w_);
    const int64_t from = begin * kernel_w_ + left, to = std::max(from, (end - 1) * kernel_w_ + right);
    const auto channels = static_cast<size_t>(input_shape_[3]);
    for (size_t panel = share * share_; panel < std::min((share + 1) * share_, panels_); ++panel)
      multiply(0, panel, copies, y_ + first * gemm_.outputs, count, static_cast<size_t>(from) * channels,
               static_cast<size_t>(to) * channels);
  }

  // Of `size` places that are `step` apart, the first of them at `from`: those inside [0, limit).
  static std::pair<int64_t, int64_t> inside(int64_t from, int64_t step, int64_t size, int64_t limit) {
    const int64_t begin = std::clamp<int64_t>((step - 1 - from) / step, 0, size);
    return {begin, std::clamp<int64_t>((limit - from + step - 1) / step, begin, size)};
  }
  int64_t top(int64_t out_y) const { return out_y * params_.stride_h() - params_.pad_top(); }

  // The kernel's rows that lie in the picture for any of `count` output pixels.
  std::pair<int64_t, int64_t> kernel_rows(size_t first, size_t count) const {
    const int64_t out_h = output_shape_[1], out_w = output_shape_[2];
    const int64_t low = static_cast<int64_t>(first) / out_w, high = static_cast<int64_t>(first + count - 1) / out_w;
    if (low / out_h != high / out_h) return {0, kernel_h_};  // of two pictures
    const int64_t step = params_.dilation_h(), height = input_shape_[1];
    const int64_t begin = inside(top(high % out_h), step, kernel_h_, height).first;
    return {begin, std::max(begin, inside(top(low % out_h), step, kernel_h_, height).second)};
  }

  // The kernel's columns that lie in the picture for any output pixel.
  std::pair<int64_t, int64_t> kernel_columns() const {
    const int64_t step = params_.dilation_w(), width = input_shape_[2], first = -params_.pad_left();
    const int64_t last = (output_shape_[2] - 1) * params_.stride_w() + first;
    const int64_t begin = inside(last, step, kernel_w_, width).first;
    return {begin, std::max(begin, inside(first, step, kernel_w_, width).second)};
  }

  // The windows of `count` output pixels, zeros outside the picture; only rows [from, until) of the kernel.
  [[gnu::target("avx512f")]] void read_windows(size_t first, size_t count, int64_t from, int64_t until,
                                               float* to) const {
    const int64_t height = input_shape_[1], width = input_shape_[2], channels = input_shape_[3];
    const int64_t out_h = output_shape_[1], out_w = output_shape_[2];
    const int64_t step_x = params_.dilation_w(), step_y = params_.dilation_h();
    const auto pixel = static_cast<int64_t>(first);
    int64_t out_x = pixel % out_w, out_y = pixel / out_w % out_h, image = pixel / (out_w * out_h);
    for (size_t i = 0; i < count; ++i, to += gemm_.inputs) {
      const int64_t left = out_x * params_.stride_w() - params_.pad_left();
      const auto [begin, end] = inside(left, step_x, kernel_w_, width);
      const int64_t together = step_x == 1 ? end - begin : 1;  // of the kernel's columns: neighbours
      for (int64_t k = from; k < until; ++k) {
        const int64_t y = top(out_y) + k * step_y;
        float* row = to + k * kernel_w_ * channels;
        const bool seen = y >= 0 && y < height;
        if (!seen || end - begin < kernel_w_) std::fill_n(row, kernel_w_ * channels, 0.0f);
        for (int64_t x = begin; seen && x < end; x += together)
          copy(x_ + ((image * height + y) * width + left + x * step_x) * channels,
               static_cast<size_t>(together * channels), row + x * channels);
      }
      if (++out_x == out_w) {
        out_x = 0;
        if (++out_y == out_h) out_y = 0, ++image;
      }
    }
  }

  const fbs::Conv2d& params_;
  int64_t kernel_h_, kernel_w_;
  Shape input_shape_, output_shape_;
  size_t windows_ = 0, block_ = 1, share_ = 1;  // a task: windows and panels
  float* copies_ = nullptr;
};

template <typename Gemm512>
Status create(std::unique_ptr<Gemm512> op, WeightSource& source, std::unique_ptr<Op>* out) {
  FERRY_TRY(op->create(source));
  *out = std::move(op);
  return {};
}

}  // namespace

bool gemm_avx512_pays(const CpuFeatures& cpu, size_t rows, const Gemm& gemm) {
  return cpu.avx512f && rows >= 2 * kRows && gemm.outputs >= kLanes;
}

Status create_gemm_avx512(const Gemm& gemm, WeightSource& source, std::unique_ptr<Op>* out) {
  return create(std::make_unique<GemmAvx512>(gemm), source, out);
}

Status create_conv_avx512(const fbs::Conv2d& params, const Shape& weight_shape, const Gemm& gemm, WeightSource& source,
                          std::unique_ptr<Op>* out) {
  return create(std::make_unique<ConvAvx512>(gemm, params, weight_shape), source, out);
}

}  // namespace ferry::cpu

#else

namespace ferry::cpu {

Status create_gemm_avx512(const Gemm&, WeightSource&, std::unique_ptr<Op>*) { return {}; }
Status create_conv_avx512(const fbs::Conv2d&, const Shape&, const Gemm&, WeightSource&, std::unique_ptr<Op>*) {
  return {};
}

}  // namespace ferry::cpu

#endif
