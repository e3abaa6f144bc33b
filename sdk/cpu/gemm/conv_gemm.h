// A convolution as a matrix product of the windows under its kernel, for gemm.kernel.cc.
#pragma once

#include <algorithm>
#include <utility>

#include "sdk/cpu/gemm/gemm_op.h"

namespace ferry::cpu {
namespace {

// A task copies the windows at some pixels into the rows of a thread-local buffer, one KC block at a time, and
// multiplies them (im2col). If the kernel is small, it computes a row of pixels in place and copies only the windows
// that reach beyond the ends of the row.
template <typename Kernel>
class ConvGemm : public GemmOp<Kernel> {
  using Base = GemmOp<Kernel>;
  using Base::gemm_, Base::l2_bytes_, Base::nc_panels_, Base::nc_blocks_, Base::x_, Base::y_, Base::kColumns,
      Base::kernel_;
  using Base::rows_, Base::block_, Base::depth_, Base::copies_, Base::copy_size_, Base::kPanelBytes;
  using Base::units;
  using typename Base::Inputs;
  using typename Base::Unit;

 public:
  ConvGemm(const CpuFeatures& cpu, const Gemm& gemm, const fbs::Conv2d& params, const Shape& weight)
      : Base(cpu, gemm), params_(params), kernel_h_(weight[1]), kernel_w_(weight[2]) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    const bool large = is_large();
    input_shape_ = inputs[0];
    output_shape_ = output;
    rows_ = elements(output, 0, 3);
    in_place_ = output[2] >= Kernel::kReadsInPlace && reads_in_place();
    if (kPanelBytes > 0 && !in_place_) {
      // Tasks skip products whose windows all lie outside the image; which ones must not depend on the pool.
      Base::plan(kernel_.adds_by_blocks() ? kTasks : Base::tasks(pool));
      if (!large) block_ = std::min(block_, kManyWindows);  // copies of few windows stay in a near cache
      share_ = 1;
    } else {
      // Weights that exceed the L2 cache are read again for every task: use fewer tasks, which also split the outputs.
      const size_t fitting = l2_bytes_ / 2 / (gemm_.inputs * kernel_.element_bytes());
      const size_t maximum = large ? std::clamp(fitting, kFewWindows, kManyWindows) : kFewWindows;
      const size_t blocks = (rows_ + maximum - 1) / maximum;
      block_ = (rows_ + blocks - 1) / blocks;
      share_ = large ? (kMinPanels + nc_panels_ - 1) / nc_panels_ : nc_blocks_;
    }
    const int64_t stride = params_.stride_w(), last = inputs[0][2] - kernel_w_ + params_.pad_left();
    begin_ = std::min<int64_t>((params_.pad_left() + stride - 1) / stride, output[2]);
    end_ = std::clamp<int64_t>(last < 0 ? 0 : last / stride + 1, begin_, output[2]);
    const size_t beyond = static_cast<size_t>(std::max(begin_, output[2] - end_));  // windows of a row
    if (in_place_) block_ = static_cast<size_t>(output[2]);
    const size_t copied = in_place_ ? beyond : std::max(std::min(block_, rows_), reads_in_place() ? beyond : 0);
    copy_size_ = copied * std::min(depth_, gemm_.inputs);
    *workspace = pool->threads() * copy_size_ * kernel_.element_bytes();
    return {};
  }

  Status run(Pool* pool) override {
    const Grid<2, 0> grid{{(nc_blocks_ + share_ - 1) / share_, (rows_ + block_ - 1) / block_}};
    parallel(pool, grid, [&](Pool::Share& part, size_t share, size_t block) {
      Unit* copies = copies_ + units(part.thread() * copy_size_);
      if (!in_place_) return compute(share, block, copies);
      const int64_t n = static_cast<int64_t>(block) / output_shape_[1];
      compute_row(image(n), static_cast<int64_t>(block) % output_shape_[1], y_ + units(block * block_ * gemm_.outputs),
                  copies);
    });
    return {};
  }

  const RowOp* by_rows() const override { return reads_in_place() ? this : nullptr; }
  void compute_rows(const RowOp::Rows& rows) const override {
    const size_t line = units(static_cast<size_t>(output_shape_[2]) * gemm_.outputs);
    auto* y = values_as<Unit>(rows.y);
    for (int64_t row = rows.from; row < rows.to; ++row, y += line)
      compute_row({values_as<Unit>(rows.x), rows.first, line_units()}, row, y,
                  copies_ + units(rows.thread * copy_size_));
  }

 private:
  // Lines of an image; `x` is line `first`.
  struct Image {
    const Unit* x;
    int64_t first, size;  // size: units per line
    const Unit* at(int64_t line) const { return x + (line - first) * size; }
  };
  Image image(int64_t n) const { return {x_ + n * input_shape_[1] * line_units(), 0, line_units()}; }
  int64_t line_units() const { return units(int64_t{input_shape_[2]} * input_shape_[3]); }

  bool is_large() const { return Base::packed_bytes() > std::min(l2_bytes_, kLargeBytes); }
  bool reads_in_place() const { return !is_large() && params_.dilation_w() == 1 && gemm_.inputs <= kernel_.depth(); }

  static constexpr size_t kLargeBytes = 512 << 10;
  static constexpr size_t kFewWindows = 24, kManyWindows = 60;  // per task
  static constexpr size_t kMinPanels = 128 / kColumns;          // minimum panels per task

  void compute(size_t share, size_t block, Unit* copies) const {
    const size_t first = block * block_, count = std::min(block_, rows_ - first);
    const auto [top, bottom] = kernel_rows(first, count);
    // A single row of pixels may skip columns of the kernel, too.
    const auto [left, right] = bottom - top == 1 ? kernel_columns() : std::pair<int64_t, int64_t>(0, kernel_w_);
    const auto channels = static_cast<size_t>(input_shape_[3]);
    const size_t from = static_cast<size_t>(top * kernel_w_ + left) * channels;
    const size_t to = std::max(from, static_cast<size_t>((bottom - 1) * kernel_w_ + right) * channels);
    const size_t begin = share * share_ * nc_panels_, end = std::min(begin + share_ * nc_panels_, Base::panels());
    size_t low = from, high;
    do {
      high = Base::kc_end(low, to);
      read_windows(first, count, low, high, copies);
      for (size_t panel = begin; panel < end; panel += nc_panels_) {
        const Unit* next = panel + nc_panels_ < end ? Base::weights(0, panel + nc_panels_, low)
                           : high < to              ? Base::weights(0, begin, high)
                                                    : nullptr;
        Base::multiply_kc_block({0, panel, std::min(panel + nc_panels_, end), low, high, low == from, high == to, next},
                                {copies, high - low}, y_ + units(first * gemm_.outputs), count);
      }
      low = high;
    } while (low < to);
  }

  void multiply(const Inputs& in, Unit* y, size_t count, size_t from, size_t to) const {
    for (size_t nc_block = 0; nc_block < nc_blocks_; ++nc_block) Base::multiply(0, nc_block, in, y, count, from, to);
  }

  // Computes output row `y` of an image; skips the kernel's rows that lie outside of it.
  void compute_row(const Image& image, int64_t y, Unit* row, Unit* copies) const {
    const int64_t out_w = output_shape_[2];
    const auto [begin, end] = inside(top(y), params_.dilation_h(), kernel_h_, input_shape_[1]);
    const size_t channels = static_cast<size_t>(input_shape_[3]);
    const size_t width = static_cast<size_t>(kernel_w_) * channels;
    const size_t from = static_cast<size_t>(begin) * width, to = static_cast<size_t>(end) * width;
    const std::pair<int64_t, int64_t> edges[] = {{0, begin_}, {end_, out_w}};
    for (const auto& [left, right] : edges) {
      if (left == right) continue;
      const auto count = static_cast<size_t>(right - left);
      read_row(image, y, left, count, from, to, copies);
      multiply({copies, to - from}, row + units(static_cast<size_t>(left) * gemm_.outputs), count, from, to);
    }
    if (begin_ == end_) return;
    const int64_t x = begin_ * params_.stride_w() - params_.pad_left(), step = params_.dilation_h();
    const Inputs in{image.at(top(y) + begin * step) + units(x * static_cast<int64_t>(channels)),
                    static_cast<size_t>(params_.stride_w()) * channels,
                    static_cast<size_t>(std::max<int64_t>(end - begin, 1)),
                    static_cast<size_t>(step) * static_cast<size_t>(input_shape_[2]) * channels};
    multiply(in, row + units(static_cast<size_t>(begin_) * gemm_.outputs), static_cast<size_t>(end_ - begin_), from,
             to);
  }

  // Of `size` positions `from`, `from` + `step`, ..., the range of those inside [0, limit).
  static std::pair<int64_t, int64_t> inside(int64_t from, int64_t step, int64_t size, int64_t limit) {
    const int64_t begin = std::clamp<int64_t>((step - 1 - from) / step, 0, size);
    return {begin, std::clamp<int64_t>((limit - from + step - 1) / step, begin, size)};
  }
  int64_t top(int64_t out_y) const { return out_y * params_.stride_h() - params_.pad_top(); }

  // The kernel's rows that lie inside the image for any of `count` output pixels.
  std::pair<int64_t, int64_t> kernel_rows(size_t first, size_t count) const {
    const int64_t out_h = output_shape_[1], out_w = output_shape_[2];
    const int64_t low = static_cast<int64_t>(first) / out_w, high = static_cast<int64_t>(first + count - 1) / out_w;
    if (low / out_h != high / out_h) return {0, kernel_h_};  // the pixels belong to two images
    const int64_t step = params_.dilation_h(), height = input_shape_[1];
    const int64_t begin = inside(top(high % out_h), step, kernel_h_, height).first;
    return {begin, std::max(begin, inside(top(low % out_h), step, kernel_h_, height).second)};
  }

  // The kernel's columns that lie inside the image for any output pixel.
  std::pair<int64_t, int64_t> kernel_columns() const {
    const int64_t step = params_.dilation_w(), width = input_shape_[2], first = -params_.pad_left();
    const int64_t last = (output_shape_[2] - 1) * params_.stride_w() + first;
    const int64_t begin = inside(last, step, kernel_w_, width).first;
    return {begin, std::max(begin, inside(first, step, kernel_w_, width).second)};
  }

  // Copies inputs [low, high) of the windows of `count` output pixels, with zero padding.
  void read_windows(size_t first, size_t count, size_t low, size_t high, Unit* to) const {
    const int64_t out_h = output_shape_[1], out_w = output_shape_[2];
    int64_t x = static_cast<int64_t>(first) % out_w, row = static_cast<int64_t>(first) / out_w;
    while (count > 0) {  // one output row at a time
      const auto pixels = static_cast<size_t>(std::min<int64_t>(out_w - x, static_cast<int64_t>(count)));
      read_row(image(row / out_h), row % out_h, x, pixels, low, high, to);
      to += units(pixels * (high - low));
      count -= pixels;
      x = 0;
      ++row;
    }
  }

  void read_row(const Image& image, int64_t out_y, int64_t out_x, size_t pixels, size_t from, size_t until,
                Unit* to) const {
    const int64_t height = input_shape_[1], width = input_shape_[2], channels = input_shape_[3];
    const int64_t step_x = params_.dilation_w(), step_y = params_.dilation_h(), stride = params_.stride_w();
    const int64_t size = kernel_w_ * channels;
    const auto low = static_cast<int64_t>(from), high = static_cast<int64_t>(until);
    const auto [first_row, end_row] = inside(top(out_y), step_y, kernel_h_, height);
    int64_t left = out_x * stride - params_.pad_left();
    for (size_t i = 0; i < pixels; ++i, left += stride) {
      const auto [first, last] = inside(left, step_x, kernel_w_, width);
      for (int64_t k = low / size, begin = low, end; begin < high; ++k, begin = end) {  // per row of the kernel
        end = std::min((k + 1) * size, high);
        Unit* next = to;
        to += units(end - begin);
        const Unit* source = image.at(top(out_y) + k * step_y) + units(left * channels);
        int64_t column = k < first_row || k >= end_row ? last : first;
        const int64_t together = step_x == 1 ? std::max<int64_t>(last - column, 1) : 1;  // contiguous columns
        for (; column < last; column += together) {
          const int64_t there = k * size + column * channels;
          const int64_t some = std::max(there, begin), rest = std::min(there + together * channels, end);
          if (some >= rest) continue;
          Unit* place = to - units(end - some);
          std::fill(next, place, Unit());
          next = place + units(rest - some);
          kernel_.copy(source + units(column * step_x * channels + (some - there)), 0, 1,
                       static_cast<size_t>(rest - some), place, 0);
        }
        std::fill(next, to, Unit());
      }
    }
  }

  const fbs::Conv2d& params_;
  int64_t kernel_h_, kernel_w_;
  Shape input_shape_, output_shape_;
  size_t share_ = 1;  // NC blocks per task
  bool in_place_ = false;
  int64_t begin_ = 0, end_ = 0;  // the pixels of a row whose windows lie within its ends
};

}  // namespace
}  // namespace ferry::cpu
