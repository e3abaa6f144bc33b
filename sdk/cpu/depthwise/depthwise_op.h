// The operator over the kernels of kernels.h, for depthwise.kernel.cc, depthwise_avx2.cc and depthwise_fp16.cc. Each
// file selects the vector type when it is compiled (vector.h).
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "sdk/cpu/backend/bands.h"
#include "sdk/cpu/depthwise/depthwise.h"
#include "sdk/cpu/depthwise/kernels.h"
#include "sdk/cpu/elementwise/unary.h"
#include "sdk/threads/loops.h"

namespace ferry::cpu::FERRY_VECTOR_SPACE {
namespace {

using namespace depthwise;

constexpr uint32_t kLayoutVersion = 1;
constexpr int64_t kBand = 8;          // maximum rows of a tile: its inputs and outputs stay in the L1 cache
constexpr int64_t kFewRows = 4;       // minimum rows of a strip: fewer read too many rows twice
constexpr size_t kL1Elements = 4096;  // outputs that stay in the L1 cache until the fused activation reads them
constexpr size_t kTileSize = static_cast<size_t>(kBand) * kMaxPixels * kLanes;

using Inside = std::array<Lanes, (kMaxPixels - 1) * kMaxStride + kMaxKernelW>;

// For prefetching: an address outside of the array has no valid pointer.
[[maybe_unused]] uintptr_t address(const Lane* array, int64_t offset) {
  return reinterpret_cast<uintptr_t>(array) + static_cast<uintptr_t>(offset) * sizeof(Lane);
}

// A task computes a strip of output rows for some vectors of channels, tile by tile. kOthers: includes kernels of other
// sizes than 3x3.
template <bool kOthers>
class Depthwise : public Op, public RowOp {
 public:
  Depthwise(const fbs::Conv2d& params, const Shape& weight)
      : params_(params), channels_(static_cast<size_t>(weight[0])), kernel_h_(weight[1]), kernel_w_(weight[2]) {}

  Status create(WeightSource& source) {
    const size_t bytes = vectors() * vector_weights() * sizeof(Lane);
    const auto fill = [&](const float* weight, const float* bias, Lane* to) { pack(weight, bias, to); };
    FERRY_TRY(source.packed_values<Lane>(PackingId(kLayout, kLayoutVersion), bytes, fill, &held_));
    weights_ = values_as<Lane>(held_.get());
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    input_shape_ = inputs[0];
    output_shape_ = output;
    const int64_t few = std::min<int64_t>(static_cast<int64_t>(pool->threads()), (output[1] + kFewRows - 1) / kFewRows);
    strips_ = static_cast<size_t>(std::max((output[1] + kBand - 1) / kBand, few));
    band_ = (output[1] + static_cast<int64_t>(strips_) - 1) / static_cast<int64_t>(strips_);  // equal for all threads
    const size_t threads = pool->threads(), strips = static_cast<size_t>(output[0]) * strips_;
    const size_t blocks = std::min((4 * threads + strips - 1) / strips, vectors());  // several tasks per thread
    block_ = (vectors() + blocks - 1) / blocks;
    pieces_.clear();
    const int64_t out_w = output[2], stride = params_.stride_w(), pad = params_.pad_left();
    for (int64_t x = 0; x < out_w;) {
      Piece piece = cut(x, out_w);
      x = piece.x + piece.count;
      // of the pixels that are computed
      const int64_t end = piece.x + std::max(piece.count, static_cast<int64_t>(kMinPixels));
      piece.beyond = piece.x * stride < pad || (end - 1) * stride - pad + kernel_w_ > input_shape_[2];
      pieces_.push_back(piece);
    }
    window_size_ = 0;
    if (!kHasMasks) {
      const int64_t lines = (std::min<int64_t>(kBand, output[1]) - 1) * params_.stride_h() + kernel_h_;
      window_size_ = static_cast<size_t>(lines * columns(static_cast<int64_t>(kMaxPixels))) * together() * kLanes;
    }
    const size_t result_size = static_cast<size_t>(out_w) < kMinPixels ? kTileSize : 0;
    task_size_ = result_size + window_size_;
    *workspace = threads * task_size_ * sizeof(Lane);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = values_as<Lane>(inputs[0]);
    output_ = values_as<Lane>(output);
    workspace_ = values_as<Lane>(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    const Grid<3, 1> grid{{static_cast<size_t>(output_shape_[0]), strips_, vectors()}, {block_}};
    parallel(pool, grid, [&](Pool::Share& share, size_t n, size_t strip, size_t vector, size_t count) {
      const int64_t from = static_cast<int64_t>(strip) * band_, to = std::min<int64_t>(from + band_, output_shape_[1]);
      const Lane* image = input_ + n * static_cast<size_t>(input_shape_[1]) * line();
      Lane* y = output_ + (n * static_cast<size_t>(output_shape_[1]) + strip * static_cast<size_t>(band_)) * row();
      compute_strip({image, 0, y, from, to, share.thread()}, vector, vector + count);
    });
    return {};
  }

  const RowOp* by_rows() const override { return this; }
  void compute_rows(const Rows& rows) const override {
    Rows strip = rows;
    for (strip.from = rows.from; strip.from < rows.to; strip.from = strip.to) {
      strip.to = std::min(strip.from + kBand, rows.to);
      strip.y = values_as<Lane>(rows.y) + static_cast<size_t>(strip.from - rows.from) * row();
      compute_strip(strip, 0, vectors());
    }
  }

  bool fuse(Next& next) override {
    if (next.function == nullptr) return false;
    after_ = elementwise(next.cpu, *next.function);
    return static_cast<bool>(after_);
  }

 private:
  // Packs per vector of channels: the bias, then each cell of the kernel.
  void pack(const float* weight, const float* bias, Lane* to) const {
    const size_t cells = static_cast<size_t>(kernel_h_ * kernel_w_);
    for (size_t c = 0; c < vectors() * kLanes; ++c) {
      Lane* lane = to + c / kLanes * vector_weights() + c % kLanes;
      const bool exists = c < channels_;
      *lane = static_cast<Lane>(exists && bias != nullptr ? bias[c] : 0.0f);
      for (size_t i = 0; i < cells; ++i)
        lane[(i + 1) * kLanes] = static_cast<Lane>(exists ? weight[c * cells + i] : 0.0f);
    }
  }

  // Input columns that the windows of `pixels` neighbouring pixels cover.
  int64_t columns(int64_t pixels) const { return (pixels - 1) * params_.stride_w() + kernel_w_; }
  size_t vectors() const { return (channels_ + kLanes - 1) / kLanes; }
  size_t together() const { return std::min(kTogether, vectors()); }  // maximum vectors per kernel call
  size_t vector_weights() const { return static_cast<size_t>(kernel_h_ * kernel_w_ + 1) * kLanes; }

  Compute kernel_of(size_t count, [[maybe_unused]] bool masked) const {
    const int64_t slides = params_.stride_w() == 1 ? kernel_w_ : 1;
#if defined(__x86_64__)
    if (slides == 3) return kernel<3>(count, masked);
    if constexpr (kOthers) {
      if (slides == 5) return kernel<5>(count, masked);
      if (slides == 7) return kernel<7>(count, masked);
      if (slides == 9) return kernel<9>(count, masked);
    }
    return kernel<1>(count, masked);
#else  // rare shapes share a kernel, to keep the library small
    if constexpr (kOthers) {
      if (params_.stride_w() == 2 && kernel_w_ == 5) return kernel<5, 2>(count);
      if (slides == 5) return kernel<5, 1>(count);
      if constexpr (!kFloat16s) {
        if (slides == 7) return kernel<7, 1>(count);
        if (params_.stride_w() > 2 || kernel_w_ != 3) return kernel<1, 1>(count);
      }
    }
    return slides == 3 ? kernel<3, 1>(count) : kernel<3, 2>(count);
#endif
  }

  // Elements of an input row and of an output row.
  size_t line() const { return static_cast<size_t>(input_shape_[2]) * channels_; }
  size_t row() const { return static_cast<size_t>(output_shape_[2]) * channels_; }

  // Computes at most kBand rows.
  void compute_strip(const Rows& rows, size_t first_vector, size_t end_vector) const {
    Lane* const workspace = workspace_ + rows.thread * task_size_;
    const int64_t width = input_shape_[2];
    const int64_t stride_h = params_.stride_h(), stride_w = params_.stride_w();
    const int64_t top = rows.from * stride_h - params_.pad_top(), first = std::max<int64_t>(top, 0);
    const auto* const image = values_as<Lane>(rows.x);
    auto* const strip = values_as<Lane>(rows.y);
    Tile tile{};
    tile.top = top - first;
    tile.lines = input_shape_[1] - first;
    tile.stride_h = stride_h;
    tile.stride_w = static_cast<size_t>(stride_w);
    tile.kernel_h = kernel_h_;
    tile.kernel_w = kernel_w_;
    tile.low = static_cast<Lane>(params_.output_min());
    tile.high = static_cast<Lane>(params_.output_max());
    tile.clamps = std::min(-params_.output_min(), params_.output_max()) < std::numeric_limits<float>::infinity();
    tile.rows = rows.to - rows.from;
    tile.next_step = channels_ * sizeof(Lane);
    tile.next_x_line = static_cast<size_t>(width) * tile.next_step;
    for (size_t piece = 0; piece < pieces_.size(); ++piece) {
      const int64_t x = pieces_[piece].x;
      const bool last = piece + 1 == pieces_.size();
      const int64_t left = x * stride_w - params_.pad_left();
      const Windows windows = begin_piece(pieces_[piece], left, workspace, &tile);
      const size_t step = windows.apart ? 1 : together(), whole = channels_ / kLanes;
      const size_t warm = kL1Elements / (static_cast<size_t>(tile.rows * pieces_[piece].count) * kLanes);
      size_t applied = first_vector;
      for (size_t vector = first_vector; vector < end_vector; vector += tile.vectors) {
        tile.vectors = vector < whole ? std::min(step, std::min(end_vector, whole) - vector) : 1;
        if constexpr (kVectorFillsLine) {
          const int64_t channels = static_cast<int64_t>(channels_);
          // The next tile: the next vectors, or the pixels to the right. After the last tile this one again, since the
          // next strip may belong to another thread.
          const size_t next = vector + tile.vectors;
          const bool begins_piece = next == end_vector && !last;
          const int64_t next_c = static_cast<int64_t>((begins_piece        ? first_vector
                                                       : next < end_vector ? next
                                                                           : vector) *
                                                      kLanes);
          const int64_t next_x = begins_piece ? pieces_[piece + 1].x : x;
          const int64_t line = top + kernel_h_ - stride_h - rows.first;
          const int64_t column = next_x * stride_w - params_.pad_left() + kernel_w_ - stride_w;
          tile.next_x = address(image, (line * width + column) * channels + next_c);
        }
        tile.x = image + ((first - rows.first) * width + left) * static_cast<int64_t>(channels_) +
                 static_cast<int64_t>(vector * kLanes);
        Lane* to = strip + static_cast<size_t>(x) * channels_ + vector * kLanes;
        compute_tile(tile, vector, windows, pieces_[piece], to, workspace);
        const size_t computed = vector + tile.vectors;
        if (after_ && (computed == end_vector || computed - applied >= warm))
          apply(strip + static_cast<size_t>(x) * channels_, tile.rows, pieces_[piece].count,
                std::exchange(applied, computed), computed);
      }
    }
  }

  // The input windows of a piece: `left`, the image column of the first; `lines` and `columns`, the extent; `begin` and
  // `inside`, the columns within the image; `computed`, the number of pixels that `kernel` computes. Windows that reach
  // beyond the image are copied (without masks).
  struct Windows {
    int64_t left, lines, columns, begin;
    size_t computed, inside;
    bool copied, apart;  // apart: results go to a buffer with room for all computed pixels
    Compute kernel;
  };

  Windows begin_piece(const Piece& piece, int64_t left, Lane* workspace, Tile* tile) const {
    const size_t count = static_cast<size_t>(piece.count), computed = std::max(count, kMinPixels);
    Windows windows{.left = left, .columns = columns(static_cast<int64_t>(computed)), .computed = computed};
    windows.lines = std::min(tile->top + (tile->rows - 1) * tile->stride_h + tile->kernel_h, tile->lines);
    windows.begin = std::clamp<int64_t>(-left, 0, windows.columns);
    windows.inside = static_cast<size_t>(std::clamp<int64_t>(input_shape_[2] - left, windows.begin, windows.columns) -
                                         windows.begin);
    windows.copied = !kHasMasks && piece.beyond;
    windows.apart = computed > count;
    windows.kernel = kHasMasks ? nullptr : kernel_of(computed, false);
    tile->cell = windows.copied ? together() * kLanes : channels_;
    tile->line = windows.copied ? static_cast<size_t>(windows.columns) * tile->cell : line();
    tile->y_step = windows.apart ? kLanes : channels_;
    tile->y_row = windows.apart ? computed * kLanes : row();
    // The padding is zero for all vectors.
    const auto begin = static_cast<size_t>(windows.begin) * tile->cell;
    const size_t end = begin + windows.inside * tile->cell;
    for (int64_t i = 0; windows.copied && i < windows.lines; ++i, workspace += tile->line) {
      std::fill_n(workspace, begin, Lane(0));
      std::fill_n(workspace + end, tile->line - end, Lane(0));
    }
    return windows;
  }

  // Computes tile.vectors vectors from `vector`. Padding counts as zeros; the CPU reads no memory there, nor for lanes
  // without a channel.
  void compute_tile(Tile& tile, size_t vector, const Windows& windows, const Piece& piece, Lane* to,
                    Lane* workspace) const {
    const size_t channels = std::min(channels_ - vector * kLanes, kLanes);
    const Lanes lanes = first_lanes(channels);
    const bool masked = kHasMasks && (piece.beyond || channels < kLanes);
    Inside inside;
    if (masked) {
      for (int64_t i = 0; i < columns(piece.count); ++i) {
        const int64_t column = windows.left + i;
        inside[static_cast<size_t>(i)] = column >= 0 && column < input_shape_[2] ? lanes : kNoLanes;
      }
    }
    tile.inside = inside.data();
    tile.weights = weights_ + vector * vector_weights();
    if (windows.copied) {
      copy_windows(windows, tile, workspace);
      tile.x = workspace;
    }
    Lane* const result = workspace + window_size_;
    tile.y = windows.apart ? result : to;
    tile.lanes = windows.apart ? kAllLanes : lanes;
    (kHasMasks ? kernel_of(windows.computed, masked) : windows.kernel)(tile);
    if (windows.apart) copy_out(result, tile.rows, windows.computed, static_cast<size_t>(piece.count), lanes, to);
  }

  // Applies the fused activation where the vectors of a tile are not contiguous, while they are in the cache.
  void apply(Lane* to, int64_t rows, int64_t pixels, size_t first_vector, size_t end_vector) const {
    const size_t first = first_vector * kLanes;
    size_t count = static_cast<size_t>(pixels), size = std::min(end_vector * kLanes, channels_) - first;
    if (size == channels_) {  // whole pixels are contiguous
      size *= count;
      count = 1;
    }
    for (int64_t i_row = 0; i_row < rows; ++i_row, to += row())
      for (size_t i = 0; i < count; ++i) {
        Lane* const pixel = to + i * channels_ + first;
        after_(pixel, pixel, size);
      }
  }

  void copy_windows(const Windows& windows, const Tile& tile, Lane* to) const {
    const size_t step = channels_, from_line = line();
    const Lane* from = tile.x + windows.begin * static_cast<int64_t>(step);
    to += static_cast<size_t>(windows.begin) * tile.cell;
    for (int64_t i = 0; i < windows.lines; ++i, from += from_line, to += tile.line)
      copy_line(from, step, windows.inside, tile.vectors, to, tile.cell);
  }

  FERRY_VECTORS void copy_out(const Lane* from, int64_t rows, size_t computed, size_t count, Lanes lanes,
                              Lane* to) const {
    const size_t row_size = row(), step = channels_;
    for (int64_t i_row = 0; i_row < rows; ++i_row, from += computed * kLanes, to += row_size) {
      const Lane* pixel = from;
      Lane* next_to = to;
      for (size_t i = 0; i < count; ++i) store_next(next_to, step, load_next(pixel), lanes);
    }
  }

  const fbs::Conv2d& params_;
  size_t channels_;
  int64_t kernel_h_, kernel_w_;
  Elementwise after_;
  Shape input_shape_, output_shape_;
  size_t strips_ = 1;                       // per image
  int64_t band_ = 1;                        // rows per strip
  size_t block_ = 1;                        // vectors per task
  size_t window_size_ = 0, task_size_ = 0;  // elements of workspace
  std::vector<Piece> pieces_;               // of an output row
  PackedBytes held_;
  const Lane *weights_ = nullptr, *input_ = nullptr;
  Lane *output_ = nullptr, *workspace_ = nullptr;
};

}  // namespace

template <bool kOthers>
Status make_depthwise(const fbs::Conv2d& params, const Shape& weight, WeightSource& source, std::unique_ptr<Op>* out) {
  auto created = std::make_unique<Depthwise<kOthers>>(params, weight);
  FERRY_TRY(created->create(source));
  *out = std::move(created);
  return {};
}

}  // namespace ferry::cpu::FERRY_VECTOR_SPACE
