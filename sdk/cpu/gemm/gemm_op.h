// The operator of a matrix product with constant weights, over the machine's tile; for gemm.kernel.cc and conv_gemm.h.
// Blocks are named as in BLIS: KC blocks of inputs, NC blocks of outputs, NR panels of kColumns outputs.
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

constexpr size_t kNcBytes = 256 << 10;  // weights of an NC block, which stay in the L2 cache while all rows pass
constexpr size_t kL1Elements = 4096;    // inputs or outputs that stay in the L1 cache
constexpr size_t kTilesAtOnce = 8;      // tiles per kernel call, so that the call costs little
constexpr size_t kTasks = 16;           // minimum tasks, for the cores of a phone or a laptop

// Packed weights of a group: the bias, then the KC blocks of at most the kernel's depth() inputs, each as NR panels of
// kColumns outputs; the last panel may have kNarrow. Weights that are multiplied together are contiguous: panels over
// all inputs would often lie a power of two apart and map to the same cache sets. Kernel: a tile, from kernel_*.h.
template <typename Kernel>
class GemmOp : public Op, public RowOp {
 public:
  using Unit = typename Kernel::Unit;  // addresses count units; sizes and strides count elements

  GemmOp(const CpuFeatures& cpu, const Gemm& gemm) : kernel_(gemm), gemm_(gemm), l2_bytes_(cpu.l2_bytes) {
    const size_t kc_blocks = std::max<size_t>((gemm.inputs + kernel_.depth() - 1) / kernel_.depth(), 1);
    depth_ =
        // kernels multiply 8 inputs at a time
        std::max<size_t>((gemm.inputs + kc_blocks - 1) / kc_blocks + 7, 8) / 8 * 8;
    const size_t bytes = std::min(l2_bytes_ / 2, kNcBytes);
    const size_t fitting = std::max<size_t>(bytes / panel_bytes(), 1);
    const size_t minimum = (panels() + fitting - 1) / fitting;
    set_nc_panels((panels() + minimum - 1) / minimum);
    if (kPanelBytes > 0) together_ = std::max<size_t>(kPanelBytes / panel_bytes(), 1);
  }

  Status create(WeightSource& source) {
    const PackingId id =
        PackingId(kernel_.layout(), Kernel::kLayoutVersion).add(gemm_.groups).add(gemm_.inputs).add(gemm_.outputs);
    const auto fill = [&](const float* weight, const float* bias, Unit* to) { pack(weight, bias, to); };
    FERRY_TRY(source.template packed_values<Unit>(id, packed_bytes(), fill, &held_));
    packed_ = values_as<Unit>(held_.get());
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    rows_ = elements(inputs[0], 0, inputs[0].rank - 1);
    width_ = inputs[0].rank == 4 ? static_cast<size_t>(inputs[0][2]) : 1;
    plan(tasks(pool));
    copy_size_ = copies() ? std::min(block_, rows_) * depth_ : 0;
    *workspace = pool->threads() * copy_size_ * kernel_.element_bytes();
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    x_ = values_as<Unit>(inputs[0]);
    y_ = values_as<Unit>(output);
    copies_ = values_as<Unit>(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    const size_t products = gemm_.groups * nc_blocks_, blocks = (rows_ + block_ - 1) / block_;
    const size_t x_group = gemm_.planes ? gemm_plane(rows_, gemm_.inputs) : gemm_.inputs;
    const size_t y_group = gemm_.planes ? gemm_plane(rows_, gemm_.outputs) : gemm_.outputs;
    // If all weights fit every core's L2 cache, threads split rows like depthwise convolutions do, so that a thread
    // mostly reads what it wrote.
    const bool by_rows = pool != nullptr && pool->threads() > 1 && packed_bytes() <= l2_bytes_ / 2;
    const Grid<2, 0> grid{{by_rows ? blocks : products, by_rows ? products : blocks}};
    parallel(pool, grid, [&](Pool::Share& share, size_t i, size_t j) {
      const size_t nc_block = by_rows ? j : i, row = (by_rows ? i : j) * block_, rows = std::min(block_, rows_ - row);
      const size_t group = nc_block / nc_blocks_;
      const Inputs in{x_ + units(row * x_stride() + group * x_group), x_stride()};
      Unit* y = y_ + units(row * y_stride() + group * y_group);
      if (copy_size_ > 0 && copies_ != nullptr) {
        multiply_copies(group, nc_block % nc_blocks_, in, y, rows, copies_ + units(share.thread() * copy_size_));
      } else {
        multiply(group, nc_block % nc_blocks_, in, y, rows, 0, gemm_.inputs);
      }
    });
    return {};
  }

  // Rows are those of one image; bands never contain grouped products.
  const RowOp* by_rows() const override { return this; }
  void compute_rows(const RowOp::Rows& rows) const override {
    const auto* x =
        values_as<Unit>(rows.x) + units(static_cast<size_t>(rows.from - rows.first) * width_ * gemm_.inputs);
    const size_t count = static_cast<size_t>(rows.to - rows.from) * width_;
    for (size_t nc_block = 0; nc_block < nc_blocks_; ++nc_block)
      multiply(0, nc_block, {x, gemm_.inputs}, values_as<Unit>(rows.y), count, 0, gemm_.inputs);
  }

  bool fuse(typename Op::Next& next) override {
    if (next.addition != nullptr) {
      constexpr float kNone = std::numeric_limits<float>::infinity();
      // A tile narrower than its vectors would read past the end.
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
  static constexpr size_t kPanelsAtOnce = Kernel::kPanelsAtOnce, kPanelBytes = Kernel::kPanelBytes;

  size_t panels() const { return (gemm_.outputs + kColumns - 1) / kColumns; }
  size_t packed_bytes() const { return gemm_.groups * group_size() * kernel_.element_bytes(); }
  template <typename Count>
  Count units(Count elements) const {
    return kernel_.units(elements);
  }
  size_t x_stride() const { return (gemm_.planes ? 1 : gemm_.groups) * gemm_.inputs; }
  size_t y_stride() const { return (gemm_.planes ? 1 : gemm_.groups) * gemm_.outputs; }

  // Rows `stride` apart, each of `parts` parts that lie `step` apart.
  struct Inputs {
    const Unit* x;
    size_t stride, parts = 1, step = 0;
  };

  static size_t tasks(const Pool* pool) { return pool != nullptr && pool->threads() > 1 ? kTasks : 1; }

  // Chooses rows and panels per task, for at least `tasks` tasks.
  void plan(size_t tasks) {
    if (kPanelBytes == 0) {
      const size_t products = gemm_.groups * nc_blocks_, blocks = (kTasks + products - 1) / products;
      block_ = ((rows_ + blocks - 1) / blocks + kernel_.rows() - 1) / kernel_.rows() * kernel_.rows();
      return;
    }
    const GemmPlan plan = plan_gemm({.groups = gemm_.groups,
                                     .rows = rows_,
                                     .inputs = gemm_.inputs,
                                     .outputs = panels() * kColumns,
                                     .nr = kColumns,
                                     .depth = depth_,
                                     .together = together_,
                                     .tile_rows = kernel_.rows(),
                                     .l2_bytes = l2_bytes_,
                                     .tasks = tasks,
                                     .element_bytes = kernel_.element_bytes()});
    block_ = plan.rows;
    streams_ = plan.streams;
    set_nc_panels(plan.panels);
  }

  // Computes the outputs of an NC block for rows of a group, whose inputs are zero outside of [from, to). Many inputs
  // are multiplied in KC blocks, which accumulate in the outputs. Inputs of several parts must fit one KC block.
  void multiply(size_t group, size_t nc_block, const Inputs& in, Unit* y, size_t rows, size_t from, size_t to) const {
    Inputs some = in;
    const size_t begin = nc_block * nc_panels_, end = std::min(begin + nc_panels_, panels());
    size_t low = from, high;
    do {
      high = kc_end(low, to);
      some.x = in.x + units(low - from);
      const Unit* next = high < to                       ? weights(group, begin, high)
                         : begin + nc_panels_ < panels() ? weights(group, begin + nc_panels_, from)
                                                         : nullptr;
      multiply_kc_block({group, begin, end, low, high, low == from, high == to, next}, some, y, rows);
      low = high;
    } while (low < to);
  }

  // Packed weights of a panel, starting at `input`.
  const Unit* weights(size_t group, size_t panel, size_t input) const {
    const size_t low = input / depth_ * depth_;
    return packed_ + units(group * group_size() + (1 + low) * columns() + panel * panel_step(input) +
                           (input - low) * width(panel));
  }

  // Inputs of a KC block whose rows lie a power of two apart map to the same cache sets. If several panels pass over
  // them, they are copied to contiguous rows first.
  bool copies() const { return streams_ && depth_ < gemm_.inputs; }
  void multiply_copies(size_t group, size_t nc_block, const Inputs& in, Unit* y, size_t rows, Unit* to) const {
    const size_t begin = nc_block * nc_panels_, end = std::min(begin + nc_panels_, panels());
    for (size_t low = 0, high; low < gemm_.inputs; low = high) {
      high = kc_end(low, gemm_.inputs);
      kernel_.copy(in.x + units(low), in.stride, rows, high - low, to, high - low);
      multiply_kc_block({group, begin, end, low, high, low == 0, high == gemm_.inputs, nullptr}, {to, high - low}, y,
                        rows);
    }
  }

  size_t kc_end(size_t low, size_t to) const { return std::min((low / depth_ + 1) * depth_, to); }

  struct KcBlock {
    size_t group, begin, end;  // panels
    size_t low, high;          // inputs, within one KC block
    bool initial, final;
    const Unit* next;  // the weights that are read next, for kernels that prefetch them; or null
  };

  struct IndexRange {  // a range of rows or panels
    size_t from, to;
    size_t size() const { return to - from; }
  };

  // `in`: the inputs of the KC block; `y`: all outputs.
  void multiply_kc_block(const KcBlock& kc, const Inputs& in, Unit* y, size_t rows) const {
    const size_t whole = std::min(kc.end, gemm_.outputs / kColumns);  // panels below this have all their columns
    const auto next_panels = [&](size_t from) {
      return IndexRange{from, from < whole ? std::min(whole, from + std::min(together_, whole)) : from + 1};
    };
    const bool applies = kc.final && after_;
    if constexpr (kPanelBytes > 0) {  // panels stay in the L1 cache while rows pass
      for (IndexRange panels = next_panels(kc.begin);; panels = next_panels(panels.to)) {
        const size_t height = applies ? rows_to_apply(panels) : rows;
        for (size_t row = 0; row < rows; row += height) {
          const IndexRange some{row, std::min(row + height, rows)};
          compute(kc, in, y, some, panels, {0, 1});
          if (applies) apply(y, some, panels);
        }
        if (panels.to == kc.end) return;
      }
    } else {
      const IndexRange all{kc.begin, kc.end};
      // of similar height, since small ones are slow
      const size_t tiles = (rows + kernel_.rows() - 1) / kernel_.rows();
      const size_t widest = std::max(kc.high - kc.low, applies ? outputs(all) : 1);
      const size_t together = std::clamp<size_t>(kL1Elements / widest / kernel_.rows(), 1, kTilesAtOnce);
      for (size_t tile = 0; tile < tiles; tile += together) {
        const IndexRange some{rows * tile / tiles, rows * std::min(tile + together, tiles) / tiles};
        for (IndexRange panels = next_panels(kc.begin);; panels = next_panels(panels.to)) {
          compute(kc, in, y, some, panels, {tile, tiles});
          if (panels.to == kc.end) break;
        }
        if (applies) apply(y, some, all);
      }
    }
  }

  // Computes panels that are all complete, or a single one. tile: the index of the first tile and the number of tiles
  // that compute these panels.
  void compute(const KcBlock& kc, const Inputs& in, Unit* y, const IndexRange& rows, const IndexRange& panels,
               [[maybe_unused]] const IndexRange& tile) const {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    const size_t column = panels.from * kColumns, columns = std::min(kColumns, gemm_.outputs - column);
    const size_t step = panel_step(kc.low);
    const bool adds = kc.final && added_ != nullptr;
    Unit* to_y = y + units(rows.from * y_stride() + column);
    typename Kernel::Tile at{.x = in.x + units(rows.from * in.stride),
                             .x_stride = in.stride,
                             .inputs = (kc.high - kc.low) / in.parts,
                             .parts = in.parts,
                             .part_step = in.step,
                             .start = kc.initial ? packed_ + units(kc.group * group_size() + column) : to_y,
                             .start_stride = kc.initial ? 0 : y_stride(),
                             .weights = weights(kc.group, panels.from, kc.low),
                             .y = to_y,
                             .y_stride = y_stride(),
                             .columns = columns,
                             .low = adds       ? sum_min_
                                    : kc.final ? gemm_.output_min
                                               : -kNone,
                             .high = adds       ? sum_max_
                                     : kc.final ? gemm_.output_max
                                                : kNone,
                             .added = adds ? reinterpret_cast<uintptr_t>(added_) - reinterpret_cast<uintptr_t>(y_) : 0,
                             .added_up = kernel_.added_up(rows_),
                             .panels = panels.size(),
                             .panel_size = step};
    if constexpr (Kernel::kFetches) {
      // The tiles share the prefetches; more at once would stall the L1 cache.
      const bool fetches = kc.next != nullptr;
      at.next_step = fetches ? (kColumns * sizeof(float) + tile.to - 1) / tile.to : 0;
      at.next = reinterpret_cast<const char*>(fetches ? kc.next + (panels.from - kc.begin) * step : at.weights) +
                tile.from * (kc.high - kc.low) * at.next_step;
    }
    kernel_.multiply(at, rows.size(), columns > kNarrow ? kColumns : kNarrow);
  }

  size_t outputs(const IndexRange& panels) const {
    return std::min(panels.to * kColumns, gemm_.outputs) - panels.from * kColumns;
  }
  // Rows whose outputs stay in the L1 cache until the fused activation reads them.
  size_t rows_to_apply(const IndexRange& panels) const {
    return std::max<size_t>(kL1Elements / outputs(panels) / kernel_.rows(), 1) * kernel_.rows();
  }

  void apply(Unit* y, const IndexRange& rows, const IndexRange& panels) const {
    size_t columns = outputs(panels), count = rows.size();
    y += units(rows.from * y_stride() + panels.from * kColumns);
    if (columns == y_stride()) {  // rows are contiguous
      columns *= count;
      count = 1;
    }
    kernel_.apply(after_, y, y_stride(), count, columns);
  }

  const Kernel kernel_;
  Gemm gemm_;
  size_t l2_bytes_;
  size_t depth_ = 8;  // inputs of a KC block
  // panels per NC block, which is per task or stays in the L2 cache while rows pass
  size_t nc_panels_ = 1, nc_blocks_ = 1;
  size_t together_ = kPanelsAtOnce;
  Elementwise after_;
  size_t rows_ = 0, block_ = 1;  // all rows; rows per task
  size_t width_ = 1;             // pixels of an image row
  bool streams_ = false;         // weights are read again for each task
  size_t copy_size_ = 0;         // elements per thread
  const Unit* x_ = nullptr;
  const void* added_ = nullptr;  // the fused addition's other operand, laid out like the output; the sum's limits
  float sum_min_ = 0, sum_max_ = 0;
  Unit *y_ = nullptr, *copies_ = nullptr;

 private:
  void set_nc_panels(size_t count) {
    nc_panels_ = count;
    nc_blocks_ = (panels() + nc_panels_ - 1) / nc_panels_;
  }
  size_t panel_bytes() const {
    return std::min(depth_, std::max<size_t>(gemm_.inputs, 1)) * kColumns * kernel_.element_bytes();
  }
  size_t columns() const { return (gemm_.outputs + kNarrow - 1) / kNarrow * kNarrow; }
  size_t group_size() const { return (gemm_.inputs + 1) * columns(); }
  // Elements from a panel to the next within the KC block of `input`.
  size_t panel_step(size_t input) const {
    const size_t low = input / depth_ * depth_;
    return std::min(depth_, gemm_.inputs - std::min(low, gemm_.inputs)) * kColumns;
  }
  size_t width(size_t panel) const { return std::min(columns() - panel * kColumns, kColumns); }

  void pack(const float* weight, const float* bias, Unit* to) const {
    for (size_t group = 0; group < gemm_.groups; ++group) {
      const size_t first = group * gemm_.outputs;
      for (size_t o = 0; o < columns(); ++o)
        kernel_.put(to, o, o < gemm_.outputs && bias != nullptr ? bias[first + o] : 0.0f);
      to += units(columns());
      for (size_t low = 0; low < gemm_.inputs; low += depth_) {
        const size_t high = std::min(low + depth_, gemm_.inputs);
        for (size_t panel = 0; panel < panels(); ++panel) {
          const size_t begin = panel * kColumns, size = width(panel);
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
