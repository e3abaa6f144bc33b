// The operator of a matrix product with constant weights, over the machine's tile: for gemm.cc and conv_gemm.h.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "sdk/cpu/backend/bands.h"
#include "sdk/cpu/gemm/gemm.h"
#if defined(__x86_64__)
#include "sdk/cpu/gemm/kernel_avx2.h"
#include "sdk/cpu/gemm/kernel_avx512.h"
#else
#include "sdk/cpu/gemm/kernel_neon.h"
#endif
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/unary.h"
#include "sdk/cpu/gemm/plan.h"

namespace ferry::cpu {
namespace {

constexpr size_t kPanelBytes = 256 << 10;  // weights that stay in the L2 cache while all rows pass
constexpr size_t kWarm = 4096;             // inputs or outputs that stay in the L1 cache
constexpr size_t kTilesAtOnce = 8;         // enough to make little of a call of the kernel
constexpr size_t kTasks = 16;              // enough to share out among a phone's or a laptop's cores

// Packed weights of a group: the bias, then turn after turn of at most the kernel's depth() inputs each, of a turn slab
// after slab of kColumns outputs each, of which the last may have kNarrow. So what is multiplied together lies
// together: slabs of whole kernels would often lie a power of two apart, at the same few places of a cache.
// Kernel: of a tile, in gemm_kernel_*.h.
template <typename Kernel>
class GemmOp : public Op, public RowOp {
 public:
  using Unit = typename Kernel::Unit;  // that addresses are counted in; sizes and strides are numbers

  GemmOp(const CpuFeatures& cpu, const Gemm& gemm) : kernel_(gemm), gemm_(gemm), l2_bytes_(cpu.l2_bytes) {
    const size_t turns = std::max<size_t>((gemm.inputs + kernel_.depth() - 1) / kernel_.depth(), 1);
    depth_ = std::max<size_t>((gemm.inputs + turns - 1) / turns + 7, 8) / 8 * 8;  // kernels multiply eight at a time
    const size_t bytes = std::min(l2_bytes_ / 2, kPanelBytes);
    const size_t fitting = std::max<size_t>(bytes / slab_bytes(), 1);
    const size_t minimum = (slabs() + fitting - 1) / fitting;
    set_panel((slabs() + minimum - 1) / minimum);
    if (kSlabBytes > 0) together_ = std::max<size_t>(kSlabBytes / slab_bytes(), 1);
  }

  Status create(WeightSource& source) {
    const PackingId id =
        PackingId(kernel_.layout(), Kernel::kLayoutVersion).add(gemm_.groups).add(gemm_.inputs).add(gemm_.outputs);
    const auto fill = [&](const float* weight, const float* bias, Unit* to) { pack(weight, bias, to); };
    FERRY_TRY(source.template packed_numbers<Unit>(id, packed_bytes(), fill, &held_));
    packed_ = numbers<Unit>(held_.get());
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    rows_ = elements(inputs[0], 0, inputs[0].rank - 1);
    width_ = inputs[0].rank == 4 ? static_cast<size_t>(inputs[0][2]) : 1;
    plan(tasks(pool));
    copy_size_ = copies() ? std::min(block_, rows_) * depth_ : 0;
    *workspace = pool->threads() * copy_size_ * kernel_.number_bytes();
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    x_ = numbers<Unit>(inputs[0]);
    y_ = numbers<Unit>(output);
    copies_ = numbers<Unit>(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    const size_t products = gemm_.groups * panels_, blocks = (rows_ + block_ - 1) / block_;
    const size_t x_group = gemm_.planes ? gemm_plane(rows_, gemm_.inputs) : gemm_.inputs;
    const size_t y_group = gemm_.planes ? gemm_plane(rows_, gemm_.outputs) : gemm_.outputs;
    // Threads share out rows, as those of depthwise convolutions do, where all weights stay in every core's L2 cache:
    // so most of what a thread reads it has written itself.
    const bool by_rows = pool != nullptr && pool->threads() > 1 && packed_bytes() <= l2_bytes_ / 2;
    const Grid<2, 0> grid{{by_rows ? blocks : products, by_rows ? products : blocks}};
    parallel(pool, grid, [&](Pool::Share& share, size_t i, size_t j) {
      const size_t panel = by_rows ? j : i, row = (by_rows ? i : j) * block_, rows = std::min(block_, rows_ - row);
      const size_t group = panel / panels_;
      const Inputs in{x_ + units(row * x_stride() + group * x_group), x_stride()};
      Unit* y = y_ + units(row * y_stride() + group * y_group);
      if (copy_size_ > 0 && copies_ != nullptr) {
        multiply_copies(group, panel % panels_, in, y, rows, copies_ + units(share.thread() * copy_size_));
      } else {
        multiply(group, panel % panels_, in, y, rows, 0, gemm_.inputs);
      }
    });
    return {};
  }

  // As one of an image's pixels; not of groups, which nobody puts into bands.
  const RowOp* by_rows() const override { return this; }
  void compute_rows(const RowOp::Rows& rows) const override {
    const auto* x = numbers<Unit>(rows.x) + units(static_cast<size_t>(rows.from - rows.first) * width_ * gemm_.inputs);
    const size_t count = static_cast<size_t>(rows.to - rows.from) * width_;
    for (size_t panel = 0; panel < panels_; ++panel)
      multiply(0, panel, {x, gemm_.inputs}, numbers<Unit>(rows.y), count, 0, gemm_.inputs);
  }

  bool fuse(typename Op::Next& next) override {
    if (next.addition != nullptr) {
      constexpr float kNone = std::numeric_limits<float>::infinity();
      // A tile that is narrower than its vectors would read beyond the end.
      if (!Kernel::kAdds || after_ || gemm_.outputs % kNarrow != 0 || gemm_.output_min > -kNone ||
          gemm_.output_max < kNone)
        return false;
      sum_min_ = next.addition->output_min();
      sum_max_ = next.addition->output_max();
      next.added = &added_;
      return true;
    }
    after_ = elementwise(next.cpu, *next.function);
    return static_cast<bool>(after_);
  }

 protected:
  static constexpr size_t kColumns = Kernel::kColumns, kNarrow = Kernel::kNarrow;
  static constexpr size_t kSlabsAtOnce = Kernel::kSlabsAtOnce, kSlabBytes = Kernel::kSlabBytes;

  size_t slabs() const { return (gemm_.outputs + kColumns - 1) / kColumns; }
  size_t packed_bytes() const { return gemm_.groups * group_size() * kernel_.number_bytes(); }
  template <typename Count>
  Count units(Count numbers) const {
    return kernel_.units(numbers);
  }
  size_t x_stride() const { return (gemm_.planes ? 1 : gemm_.groups) * gemm_.inputs; }
  size_t y_stride() const { return (gemm_.planes ? 1 : gemm_.groups) * gemm_.outputs; }

  // Rows, `stride` apart, each of that many parts, `step` apart.
  struct Inputs {
    const Unit* x;
    size_t stride, parts = 1, step = 0;
  };

  static size_t tasks(const Pool* pool) { return pool != nullptr && pool->threads() > 1 ? kTasks : 1; }

  // Rows and slabs of a task, for that many of them.
  void plan(size_t tasks) {
    if (kSlabBytes == 0) {
      const size_t products = gemm_.groups * panels_, blocks = (kTasks + products - 1) / products;
      block_ = ((rows_ + blocks - 1) / blocks + kernel_.rows() - 1) / kernel_.rows() * kernel_.rows();
      return;
    }
    const GemmPlan plan = plan_gemm({.groups = gemm_.groups,
                                     .rows = rows_,
                                     .inputs = gemm_.inputs,
                                     .outputs = slabs() * kColumns,
                                     .slab = kColumns,
                                     .depth = depth_,
                                     .together = together_,
                                     .tile_rows = kernel_.rows(),
                                     .l2_bytes = l2_bytes_,
                                     .tasks = tasks,
                                     .number_bytes = kernel_.number_bytes()});
    block_ = plan.rows;
    streams_ = plan.streams;
    set_panel(plan.slabs);
  }

  // A panel's outputs for rows of a group, whose inputs are zeros but for those of [from, to). Many inputs are
  // multiplied in turns, which add to the outputs; if they are of several parts, there are at most a turn's.
  void multiply(size_t group, size_t panel, const Inputs& in, Unit* y, size_t rows, size_t from, size_t to) const {
    Inputs some = in;
    const size_t begin = panel * panel_, end = std::min(begin + panel_, slabs());
    size_t low = from, high;
    do {
      high = turn_end(low, to);
      some.x = in.x + units(low - from);
      const Unit* next = high < to                  ? weights(group, begin, high)
                         : begin + panel_ < slabs() ? weights(group, begin + panel_, from)
                                                    : nullptr;
      multiply_turn({group, begin, end, low, high, low == from, high == to, next}, some, y, rows);
      low = high;
    } while (low < to);
  }

  // Of a slab, from an input on.
  const Unit* weights(size_t group, size_t slab, size_t input) const {
    const size_t low = input / depth_ * depth_;
    return packed_ +
           units(group * group_size() + (1 + low) * columns() + slab * slab_step(input) + (input - low) * width(slab));
  }

  // Of rows that lie a power of two apart a turn's inputs meet at a few places of a cache: where slab after slab passes
  // over them, they are copied together first.
  bool copies() const { return streams_ && depth_ < gemm_.inputs; }
  void multiply_copies(size_t group, size_t panel, const Inputs& in, Unit* y, size_t rows, Unit* to) const {
    const size_t begin = panel * panel_, end = std::min(begin + panel_, slabs());
    for (size_t low = 0, high; low < gemm_.inputs; low = high) {
      high = turn_end(low, gemm_.inputs);
      kernel_.copy(in.x + units(low), in.stride, rows, high - low, to, high - low);
      multiply_turn({group, begin, end, low, high, low == 0, high == gemm_.inputs, nullptr}, {to, high - low}, y, rows);
    }
  }

  size_t turn_end(size_t low, size_t to) const { return std::min((low / depth_ + 1) * depth_, to); }

  struct Turn {
    size_t group, begin, end;  // slabs
    size_t low, high;          // inputs, of one turn
    bool initial, final;
    const Unit* next;  // what is read then, for kernels that fetch it ahead; or null
  };

  struct Part {  // of rows or slabs
    size_t from, to;
    size_t size() const { return to - from; }
  };

  // Of `in` the turn's inputs, of y all outputs.
  void multiply_turn(const Turn& turn, const Inputs& in, Unit* y, size_t rows) const {
    const size_t whole = std::min(turn.end, gemm_.outputs / kColumns);  // slabs up to here have all their columns
    const auto next_slabs = [&](size_t from) {
      return Part{from, from < whole ? std::min(whole, from + std::min(together_, whole)) : from + 1};
    };
    const bool applies = turn.final && after_;
    if constexpr (kSlabBytes > 0) {  // they stay in the L1 cache while rows pass
      for (Part slabs = next_slabs(turn.begin);; slabs = next_slabs(slabs.to)) {
        const size_t height = applies ? rows_to_apply(slabs) : rows;
        for (size_t row = 0; row < rows; row += height) {
          const Part some{row, std::min(row + height, rows)};
          compute(turn, in, y, some, slabs, {0, 1});
          if (applies) apply(y, some, slabs);
        }
        if (slabs.to == turn.end) return;
      }
    } else {
      const Part all{turn.begin, turn.end};
      const size_t tiles = (rows + kernel_.rows() - 1) / kernel_.rows();  // alike in height, as small ones are slow
      const size_t widest = std::max(turn.high - turn.low, applies ? outputs(all) : 1);
      const size_t together = std::clamp<size_t>(kWarm / widest / kernel_.rows(), 1, kTilesAtOnce);
      for (size_t tile = 0; tile < tiles; tile += together) {
        const Part some{rows * tile / tiles, rows * std::min(tile + together, tiles) / tiles};
        for (Part slabs = next_slabs(turn.begin);; slabs = next_slabs(slabs.to)) {
          compute(turn, in, y, some, slabs, {tile, tiles});
          if (slabs.to == turn.end) break;
        }
        if (applies) apply(y, some, all);
      }
    }
  }

  // Those of slabs that are all whole, or of a single one. tile: the first, of how many that compute these slabs.
  void compute(const Turn& turn, const Inputs& in, Unit* y, const Part& rows, const Part& slabs,
               [[maybe_unused]] const Part& tile) const {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    const size_t column = slabs.from * kColumns, columns = std::min(kColumns, gemm_.outputs - column);
    const size_t step = slab_step(turn.low);
    const bool adds = turn.final && added_ != nullptr;
    Unit* to_y = y + units(rows.from * y_stride() + column);
    typename Kernel::Tile at{.x = in.x + units(rows.from * in.stride),
                             .x_stride = in.stride,
                             .inputs = (turn.high - turn.low) / in.parts,
                             .parts = in.parts,
                             .part_step = in.step,
                             .start = turn.initial ? packed_ + units(turn.group * group_size() + column) : to_y,
                             .start_stride = turn.initial ? 0 : y_stride(),
                             .weights = weights(turn.group, slabs.from, turn.low),
                             .y = to_y,
                             .y_stride = y_stride(),
                             .columns = columns,
                             .low = adds         ? sum_min_
                                    : turn.final ? gemm_.output_min
                                                 : -kNone,
                             .high = adds         ? sum_max_
                                     : turn.final ? gemm_.output_max
                                                  : kNone,
                             .added = adds ? reinterpret_cast<uintptr_t>(added_) - reinterpret_cast<uintptr_t>(y_) : 0,
                             .added_up = kernel_.added_up(rows_),
                             .slabs = slabs.size(),
                             .slab_size = step};
    if constexpr (Kernel::kFetches) {
      // The tiles share out fetching it, as more at once would keep the L1 cache waiting.
      const bool fetches = turn.next != nullptr;
      at.next_step = fetches ? (kColumns * sizeof(float) + tile.to - 1) / tile.to : 0;
      at.next = reinterpret_cast<const char*>(fetches ? turn.next + (slabs.from - turn.begin) * step : at.weights) +
                tile.from * (turn.high - turn.low) * at.next_step;
    }
    kernel_.multiply(at, rows.size(), columns > kNarrow ? kColumns : kNarrow);
  }

  size_t outputs(const Part& slabs) const {
    return std::min(slabs.to * kColumns, gemm_.outputs) - slabs.from * kColumns;
  }
  // So many rows' outputs stay in the L1 cache until another function takes them over.
  size_t rows_to_apply(const Part& slabs) const {
    return std::max<size_t>(kWarm / outputs(slabs) / kernel_.rows(), 1) * kernel_.rows();
  }

  void apply(Unit* y, const Part& rows, const Part& slabs) const {
    size_t columns = outputs(slabs), count = rows.size();
    y += units(rows.from * y_stride() + slabs.from * kColumns);
    if (columns == y_stride()) {  // rows without gaps
      columns *= count;
      count = 1;
    }
    kernel_.apply(after_, y, y_stride(), count, columns);
  }

  const Kernel kernel_;
  Gemm gemm_;
  size_t l2_bytes_;
  size_t depth_ = 8;               // inputs of a turn
  size_t panel_ = 1, panels_ = 1;  // slabs of a task, or that stay in the L2 cache while rows pass
  size_t together_ = kSlabsAtOnce;
  Elementwise after_;
  size_t rows_ = 0, block_ = 1;  // all, of a task
  size_t width_ = 1;             // of an image, in pixels
  bool streams_ = false;         // weights are read again for each task
  size_t copy_size_ = 0;         // of a thread, numbers
  const Unit* x_ = nullptr;
  const void* added_ = nullptr;  // to the output, when it is written; what limits the sum
  float sum_min_ = 0, sum_max_ = 0;
  Unit *y_ = nullptr, *copies_ = nullptr;

 private:
  void set_panel(size_t slabs_of_it) {
    panel_ = slabs_of_it;
    panels_ = (slabs() + panel_ - 1) / panel_;
  }
  size_t slab_bytes() const {
    return std::min(depth_, std::max<size_t>(gemm_.inputs, 1)) * kColumns * kernel_.number_bytes();
  }
  size_t columns() const { return (gemm_.outputs + kNarrow - 1) / kNarrow * kNarrow; }
  size_t group_size() const { return (gemm_.inputs + 1) * columns(); }
  // From a slab to the next, in the turn of an input.
  size_t slab_step(size_t input) const {
    const size_t low = input / depth_ * depth_;
    return std::min(depth_, gemm_.inputs - std::min(low, gemm_.inputs)) * kColumns;
  }
  size_t width(size_t slab) const { return std::min(columns() - slab * kColumns, kColumns); }

  void pack(const float* weight, const float* bias, Unit* to) const {
    for (size_t group = 0; group < gemm_.groups; ++group) {
      const size_t first = group * gemm_.outputs;
      for (size_t o = 0; o < columns(); ++o)
        kernel_.put(to, o, o < gemm_.outputs && bias != nullptr ? bias[first + o] : 0.0f);
      to += units(columns());
      for (size_t low = 0; low < gemm_.inputs; low += depth_) {
        const size_t high = std::min(low + depth_, gemm_.inputs);
        for (size_t slab = 0; slab < slabs(); ++slab) {
          const size_t begin = slab * kColumns, size = width(slab);
          for (size_t j = 0; j < size; ++j)
            for (size_t k = low; k < high; ++k)
              kernel_.put(to, (k - low) * size + j,
                          begin + j < gemm_.outputs ? weight[(first + begin + j) * gemm_.inputs + k] : 0.0f);
          to += units((high - low) * size);
        }
      }
    }
  }

  PackedBytes held_;
  const Unit* packed_ = nullptr;
};

}  // namespace
}  // namespace ferry::cpu
