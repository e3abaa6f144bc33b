#include "sdk/cpu/gemm.h"

#if FERRY_HAS_GEMM

#include "sdk/threads/pool.h"

#include <algorithm>
#include <limits>

#if defined(__x86_64__)
#include "sdk/cpu/gemm_kernel_avx2.h"
#include "sdk/cpu/gemm_kernel_avx512.h"
#else
#include "sdk/cpu/gemm_kernel_neon.h"
#endif
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/unary.h"

namespace ferry::cpu {
namespace {

using tile::Tile;

constexpr size_t kPanelBytes = 256 << 10;  // weights that stay in the L2 cache while all rows pass
constexpr size_t kWarm = 4096;             // outputs that stay in the L1 cache until another function takes them over
constexpr size_t kTasks = 16;              // enough to share out among a phone's or a laptop's cores

// Kernel: of a tile, in gemm_kernel_*.h.
template <typename Kernel>
class GemmOp : public Op {
 public:
  GemmOp(const CpuFeatures& cpu, const Gemm& gemm) : gemm_(gemm), l2_bytes_(cpu.l2_bytes) {
    const size_t inputs = std::min(gemm.inputs, kDepth), bytes = std::min(l2_bytes_ / 2, kPanelBytes);
    const size_t fitting = std::max<size_t>(bytes / (inputs * kColumns * sizeof(float)), 1);
    const size_t minimum = (slabs() + fitting - 1) / fitting;
    panel_ = (slabs() + minimum - 1) / minimum;
    panels_ = (slabs() + panel_ - 1) / panel_;
  }

  Status create(WeightSource& source) {
    const PackingId id =
        PackingId(Kernel::kLayout, Kernel::kLayoutVersion).add(gemm_.groups).add(gemm_.inputs).add(gemm_.outputs);
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
      multiply(group, panel % panels_, {x_ + row * x_stride() + group * gemm_.inputs, x_stride()},
               y_ + row * y_stride() + group * gemm_.outputs, rows, 0, gemm_.inputs);
    });
    return {};
  }

  bool fuse(const CpuFeatures& cpu, const fbs::Unary& next) override {
    after_ = elementwise(cpu, next);
    return static_cast<bool>(after_);
  }

 protected:
  static constexpr size_t kRows = Kernel::kRows, kColumns = Kernel::kColumns, kNarrow = Kernel::kNarrow;
  static constexpr size_t kDepth = Kernel::kDepth, kRowsAtOnce = Kernel::kRowsAtOnce;

  size_t slabs() const { return (gemm_.outputs + kColumns - 1) / kColumns; }
  size_t packed_bytes() const { return gemm_.groups * group_size() * sizeof(float); }
  size_t x_stride() const { return gemm_.groups * gemm_.inputs; }
  size_t y_stride() const { return gemm_.groups * gemm_.outputs; }

  // Rows, `stride` apart, each of that many parts, `step` apart.
  struct Inputs {
    const float* x;
    size_t stride, parts = 1, step = 0;
  };

  // A panel's outputs for rows of a group, whose inputs are zeros but for those of [from, to). Many inputs are
  // multiplied in turns, which add to the outputs; if they are of several parts, there are at most kDepth.
  void multiply(size_t group, size_t panel, const Inputs& in, float* y, size_t rows, size_t from, size_t to) const {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    const float* packed = packed_ + group * group_size();
    const size_t begin = panel * panel_, end = std::min(begin + panel_, slabs());
    const size_t first = begin * kColumns, last = std::min(end * kColumns, gemm_.outputs);
    const size_t whole = std::min(end, gemm_.outputs / kColumns);  // slabs up to here have all their columns
    const size_t most =
        after_ ? std::min(kRowsAtOnce, std::max(kWarm / (last - first) / kRows * kRows, kRows)) : kRowsAtOnce;
    const size_t blocks = rows / most + (rows % most != 0);  // alike in height, as small ones are slow
    const size_t turns = std::max<size_t>((to - from + kDepth - 1) / kDepth, 1);
    for (size_t turn = 0; turn < turns; ++turn) {
      const size_t low = from + (to - from) * turn / turns, high = from + (to - from) * (turn + 1) / turns;
      const bool initial = turn == 0, final = turn + 1 == turns;
      for (size_t block = 0, row = 0, height; block < blocks; ++block, row += height) {
        height = kRowsAtOnce > kRows ? std::min(most, rows - row) : rows * (block + 1) / blocks - row;
        for (size_t slab = begin, count; slab < end; slab += count) {
          const size_t column = slab * kColumns, columns = std::min(kColumns, gemm_.outputs - column);
          count = slab < whole ? std::min(whole - slab, Kernel::kSlabsAtOnce) : 1;
          const size_t width = columns > kNarrow ? kColumns : kNarrow;
          const float* bias = packed + slab * slab_size();
          float* to_y = y + row * y_stride() + column;
          Tile at{.x = in.x + row * in.stride + low - from,
                  .x_stride = in.stride,
                  .inputs = (high - low) / in.parts,
                  .parts = in.parts,
                  .part_step = in.step,
                  .start = initial ? bias : to_y,
                  .start_stride = initial ? 0 : y_stride(),
                  .weights = bias + (1 + low) * width,
                  .y = to_y,
                  .y_stride = y_stride(),
                  .columns = columns,
                  .low = final ? gemm_.output_min : -kNone,
                  .high = final ? gemm_.output_max : kNone,
                  .slabs = count,
                  .slab_size = slab_size(),
                  .start_step = initial ? slab_size() : kColumns};
          if constexpr (Kernel::kFetches) {
            // What comes next, this slab's other inputs or a slab of the next panel: the blocks share out fetching it,
            // as more at once would keep the L1 cache waiting.
            const float* next = final ? bias + panel_ * slab_size() + (1 + from) * kColumns : bias + (1 + high) * width;
            const bool fetch = !final || slab + panel_ < slabs();
            at.next_step = fetch ? (kColumns * sizeof(float) + blocks - 1) / blocks : 0;
            at.next = reinterpret_cast<const char*>(fetch ? next : bias) + block * (high - low) * at.next_step;
          }
          Kernel::multiply(at, height, width);
        }
        if (final && after_) apply(y + row * y_stride() + first, height, last - first);
      }
    }
  }

  void apply(float* y, size_t rows, size_t columns) const {
    if (columns == y_stride()) {  // rows without gaps
      columns *= rows;
      rows = 1;
    }
    for (size_t i = 0; i < rows; ++i, y += y_stride()) after_(y, y, columns);
  }

  Gemm gemm_;
  size_t l2_bytes_;
  size_t panel_ = 1, panels_ = 1;  // slabs that stay in the cache while rows pass
  const float* x_ = nullptr;
  float* y_ = nullptr;

 private:
  // Weights are cut into slabs of kColumns outputs; the last of a group may have kNarrow.
  size_t slab_size() const { return (gemm_.inputs + 1) * kColumns; }
  size_t group_size() const { return (gemm_.inputs + 1) * ((gemm_.outputs + kNarrow - 1) / kNarrow * kNarrow); }

  void pack(const float* weight, const float* bias, float* to) const {
    for (size_t group = 0; group < gemm_.groups; ++group) {
      for (size_t begin = 0; begin < gemm_.outputs; begin += kColumns) {
        const size_t columns = gemm_.outputs - begin > kNarrow ? kColumns : kNarrow;
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

// A task copies the windows under the kernel at some pixels into rows of its thread's own memory and multiplies these;
// or, where the kernel is small, computes a row of pixels and copies those windows only that reach beyond its ends.
template <typename Kernel>
class ConvGemm : public GemmOp<Kernel> {
  using Base = GemmOp<Kernel>;
  using Base::gemm_, Base::l2_bytes_, Base::panel_, Base::panels_, Base::x_, Base::y_, Base::kDepth, Base::kColumns;
  using typename Base::Inputs;

 public:
  ConvGemm(const CpuFeatures& cpu, const Gemm& gemm, const fbs::Conv2d& params, const Shape& weight)
      : Base(cpu, gemm), params_(params), kernel_h_(weight[1]), kernel_w_(weight[2]) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    // Weights that do not fit the L2 cache are read anew for every task: fewer tasks, which share out the outputs, too.
    const bool large = Base::packed_bytes() > std::min(l2_bytes_, kLargeBytes);
    input_shape_ = inputs[0];
    output_shape_ = output;
    windows_ = elements(output, 0, 3);
    const size_t fitting = l2_bytes_ / 2 / (gemm_.inputs * sizeof(float));  // copies beside the weights
    const size_t maximum = large ? std::clamp(fitting, kFewWindows, kManyWindows) : kFewWindows;
    const size_t blocks = (windows_ + maximum - 1) / maximum;
    block_ = (windows_ + blocks - 1) / blocks;
    share_ = large ? (kNarrowest + panel_ - 1) / panel_ : panels_;
    copied_ = block_;
    in_place_ = Kernel::kReadsInPlace && !large && params_.dilation_w() == 1 && gemm_.inputs <= kDepth;
    if (in_place_) {
      const int64_t stride = params_.stride_w(), last = inputs[0][2] - kernel_w_ + params_.pad_left();
      begin_ = std::min<int64_t>((params_.pad_left() + stride - 1) / stride, output[2]);
      end_ = std::clamp<int64_t>(last < 0 ? 0 : last / stride + 1, begin_, output[2]);
      block_ = static_cast<size_t>(output[2]);
      copied_ = static_cast<size_t>(std::max(begin_, output[2] - end_));
    }
    *workspace = pool->threads() * copied_ * gemm_.inputs * sizeof(float);
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
    parallel(pool, grid, [&](Pool::Share& part, size_t share, size_t block) {
      float* copies = copies_ + part.thread() * copied_ * gemm_.inputs;
      in_place_ ? compute_row(share, block, copies) : compute(share, block, copies);
    });
    return {};
  }

 private:
  static constexpr size_t kLargeBytes = 512 << 10;
  static constexpr size_t kFewWindows = 24, kManyWindows = 60;  // of a task
  static constexpr size_t kNarrowest = 128 / kColumns;          // slabs that a task has at least

  void compute(size_t share, size_t block, float* copies) const {
    const size_t first = block * block_, count = std::min(block_, windows_ - first);
    const auto [begin, end] = kernel_rows(first, count);
    read_windows(first, count, begin, end, copies);
    // The columns of a single row, too.
    const auto [left, right] = end - begin == 1 ? kernel_columns() : std::pair<int64_t, int64_t>(0, kernel_w_);
    const int64_t from = begin * kernel_w_ + left, to = std::max(from, (end - 1) * kernel_w_ + right);
    const size_t channels = static_cast<size_t>(input_shape_[3]), skipped = static_cast<size_t>(from) * channels;
    multiply(share, {copies + skipped, gemm_.inputs}, first, count, skipped, static_cast<size_t>(to) * channels);
  }

  void multiply(size_t share, const Inputs& in, size_t first, size_t count, size_t from, size_t to) const {
    for (size_t panel = share * share_; panel < std::min((share + 1) * share_, panels_); ++panel)
      Base::multiply(0, panel, in, y_ + first * gemm_.outputs, count, from, to);
  }

  // An output row: of the kernel only the rows that lie in the picture.
  void compute_row(size_t share, size_t row, float* copies) const {
    const int64_t out_h = output_shape_[1], out_w = output_shape_[2], height = input_shape_[1];
    const int64_t image = static_cast<int64_t>(row) / out_h, y = static_cast<int64_t>(row) % out_h;
    const auto [begin, end] = inside(top(y), params_.dilation_h(), kernel_h_, height);
    const size_t channels = static_cast<size_t>(input_shape_[3]),
                 line = static_cast<size_t>(input_shape_[2]) * channels;
    const size_t width = static_cast<size_t>(kernel_w_) * channels, first = row * block_;
    const size_t from = static_cast<size_t>(begin) * width, to = static_cast<size_t>(end) * width;
    const std::pair<int64_t, int64_t> edges[] = {{0, begin_}, {end_, out_w}};
    for (const auto& [left, right] : edges) {
      if (left == right) continue;
      const auto count = static_cast<size_t>(right - left);
      read_row(image, y, left, count, begin, end, copies);
      multiply(share, {copies + from, gemm_.inputs}, first + static_cast<size_t>(left), count, from, to);
    }
    if (begin_ == end_) return;
    const int64_t x = begin_ * params_.stride_w() - params_.pad_left(), step = params_.dilation_h();
    const int64_t pixel = (image * height + top(y) + begin * step) * input_shape_[2] + x;
    const Inputs in{x_ + static_cast<size_t>(pixel) * channels, static_cast<size_t>(params_.stride_w()) * channels,
                    static_cast<size_t>(std::max<int64_t>(end - begin, 1)), static_cast<size_t>(step) * line};
    multiply(share, in, first + static_cast<size_t>(begin_), static_cast<size_t>(end_ - begin_), from, to);
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
  void read_windows(size_t first, size_t count, int64_t from, int64_t until, float* to) const {
    const int64_t out_h = output_shape_[1], out_w = output_shape_[2];
    int64_t x = static_cast<int64_t>(first) % out_w, row = static_cast<int64_t>(first) / out_w;
    while (count > 0) {  // of one output row at a time
      const auto pixels = static_cast<size_t>(std::min<int64_t>(out_w - x, static_cast<int64_t>(count)));
      read_row(row / out_h, row % out_h, x, pixels, from, until, to);
      to += pixels * gemm_.inputs;
      count -= pixels;
      x = 0;
      ++row;
    }
  }

  void read_row(int64_t image, int64_t out_y, int64_t out_x, size_t pixels, int64_t from, int64_t until,
                float* to) const {
    const int64_t height = input_shape_[1], width = input_shape_[2], channels = input_shape_[3];
    const int64_t step_x = params_.dilation_w(), step_y = params_.dilation_h(), stride = params_.stride_w();
    const int64_t kernel_w = kernel_w_, line = width * channels, row_size = kernel_w * channels;
    const auto [first_row, end_row] = inside(top(out_y), step_y, kernel_h_, height);
    const int64_t begin_row = std::clamp(first_row, from, until), last_row = std::clamp(end_row, begin_row, until);
    const float* const picture = x_ + (image * height + top(out_y)) * line;
    int64_t left = out_x * stride - params_.pad_left();
    for (size_t i = 0; i < pixels; ++i, left += stride, to += gemm_.inputs) {
      const auto [begin, end] = inside(left, step_x, kernel_w, width);
      std::fill(to + from * row_size, to + begin_row * row_size, 0.0f);
      std::fill(to + last_row * row_size, to + until * row_size, 0.0f);
      const float* source = picture + begin_row * step_y * line + left * channels;
      float* row = to + begin_row * row_size;
      const auto rows = static_cast<size_t>(last_row - begin_row), source_step = static_cast<size_t>(step_y * line);
      const auto copy = [&](int64_t x, int64_t together) {  // columns of the kernel that are neighbours
        Kernel::copy(source + x * step_x * channels, source_step, rows, static_cast<size_t>(together * channels),
                     row + x * channels, static_cast<size_t>(row_size));
      };
      if (end - begin < kernel_w) std::fill_n(row, static_cast<int64_t>(rows) * row_size, 0.0f);
      const int64_t together = step_x == 1 ? end - begin : 1;
      for (int64_t x = begin; x < end; x += together) copy(x, together);
    }
  }

  const fbs::Conv2d& params_;
  int64_t kernel_h_, kernel_w_;
  Shape input_shape_, output_shape_;
  size_t windows_ = 0, block_ = 1, share_ = 1;  // a task: windows and panels
  bool in_place_ = false;
  size_t copied_ = 0;            // windows of a task, at once
  int64_t begin_ = 0, end_ = 0;  // the pixels of a row whose windows do not reach beyond its ends
  float* copies_ = nullptr;
};

// Calls `use` with the kernel for this CPU.
template <typename Use>
auto with_kernel([[maybe_unused]] const CpuFeatures& cpu, const Use& use) {
#if defined(__x86_64__)
  if (!tile::Avx512::runs_here(cpu)) return use(tile::Avx2());
  return use(tile::Avx512());
#else
  return use(tile::Neon());
#endif
}

template <typename Product>
Status create(std::unique_ptr<Product> op, WeightSource& source, std::unique_ptr<Op>* out) {
  FERRY_TRY(op->create(source));
  *out = std::move(op);
  return {};
}

}  // namespace

bool gemm_pays(const CpuFeatures& cpu, size_t rows, const Gemm& gemm) {
  return with_kernel(cpu, [&]<typename Kernel>(Kernel) {
    return Kernel::runs_here(cpu) && rows >= 2 * Kernel::kRows && gemm.outputs >= Kernel::kFewestOutputs;
  });
}

Status create_gemm(const CpuFeatures& cpu, const Gemm& gemm, WeightSource& source, std::unique_ptr<Op>* out) {
  return with_kernel(
      cpu, [&]<typename Kernel>(Kernel) { return create(std::make_unique<GemmOp<Kernel>>(cpu, gemm), source, out); });
}

Status create_conv_gemm(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight_shape, const Gemm& gemm,
                        WeightSource& source, std::unique_ptr<Op>* out) {
  return with_kernel(cpu, [&]<typename Kernel>(Kernel) {
    return create(std::make_unique<ConvGemm<Kernel>>(cpu, gemm, params, weight_shape), source, out);
  });
}

}  // namespace ferry::cpu

#else

namespace ferry::cpu {

Status create_gemm(const CpuFeatures&, const Gemm&, WeightSource&, std::unique_ptr<Op>*) { return {}; }
Status create_conv_gemm(const CpuFeatures&, const fbs::Conv2d&, const Shape&, const Gemm&, WeightSource&,
                        std::unique_ptr<Op>*) {
  return {};
}

}  // namespace ferry::cpu

#endif
