#include "sdk/cpu/depthwise_avx512.h"

#if defined(__x86_64__) && defined(__gnu_linux__)

#include "sdk/threads/loops.h"

#include <algorithm>
#include <array>
#include <limits>

#include "sdk/cpu/depthwise_kernels_avx512.h"
#include "sdk/cpu/unary.h"

namespace ferry::cpu {
namespace {

using namespace depthwise;

constexpr uint32_t kLayoutVersion = 1;                          // of packed weights
constexpr int64_t kMaxStride = 2, kTallest = 16, kWidest = 32;  // of a kernel
constexpr int64_t kBand = 8;  // rows of a tile: what it reads and writes stays in the L1 cache
constexpr size_t kTileSize = static_cast<size_t>(kBand) * kPixels * kLanes;

using Inside = std::array<__mmask16, (kPixels - 1) * kMaxStride + kWidest>;

// For prefetching: what may be outside of the array has no pointer.
uintptr_t address(const float* array, int64_t offset) {
  return reinterpret_cast<uintptr_t>(array) + static_cast<uintptr_t>(offset) * sizeof(float);
}

// A task computes a strip of output rows, all or some vectors of channels, tile by tile.
class DepthwiseAvx512 : public Op {
 public:
  DepthwiseAvx512(const fbs::Conv2d& params, const Shape& weight)
      : params_(params), channels_(static_cast<size_t>(weight[0])), kernel_h_(weight[1]), kernel_w_(weight[2]) {}

  Status create(WeightSource& source) {
    const size_t bytes = vectors() * vector_weights() * sizeof(float);
    const auto fill = [&](const float* weight, const float* bias, float* to) { pack(weight, bias, to); };
    FERRY_TRY(source.packed_floats(PackingId("depthwise_avx512", kLayoutVersion), bytes, fill, &held_));
    weights_ = floats(held_.get());
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    input_shape_ = inputs[0];
    output_shape_ = output;
    strips_ = static_cast<size_t>((output[1] + kBand - 1) / kBand);
    const size_t threads = pool->threads(), strips = static_cast<size_t>(output[0]) * strips_;
    const size_t blocks = std::min((4 * threads + strips - 1) / strips, vectors());  // some tasks for each thread
    block_ = (vectors() + blocks - 1) / blocks;
    *workspace = after_ ? threads * kTileSize * sizeof(float) : 0;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    workspace_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    const Grid<3, 1> grid{{static_cast<size_t>(output_shape_[0]), strips_, vectors()}, {block_}};
    parallel(pool, grid, [&](Pool::Share& share, size_t image, size_t strip, size_t vector, size_t count) {
      float* const tile = after_ ? workspace_ + share.thread() * kTileSize : nullptr;
      compute_strip(static_cast<int64_t>(image), static_cast<int64_t>(strip) * kBand, vector, vector + count, tile);
    });
    return {};
  }

  bool fuse(const CpuFeatures& cpu, const fbs::Unary& next) override {
    after_ = elementwise(cpu, next);
    return static_cast<bool>(after_);
  }

 private:
  // Vectors of channels: each the bias, then the kernel's cells.
  void pack(const float* weight, const float* bias, float* to) const {
    const size_t cells = static_cast<size_t>(kernel_h_ * kernel_w_);
    for (size_t c = 0; c < vectors() * kLanes; ++c) {
      float* lane = to + c / kLanes * vector_weights() + c % kLanes;
      const bool exists = c < channels_;
      *lane = exists && bias != nullptr ? bias[c] : 0.0f;
      for (size_t i = 0; i < cells; ++i) lane[(i + 1) * kLanes] = exists ? weight[c * cells + i] : 0.0f;
    }
  }

  size_t vectors() const { return (channels_ + kLanes - 1) / kLanes; }
  size_t vector_weights() const { return static_cast<size_t>(kernel_h_ * kernel_w_ + 1) * kLanes; }

  template <bool kMasked>
  Compute kernel(size_t count) const {
    const int64_t slides = params_.stride_w() == 1 ? kernel_w_ : 1;
    if (slides == 3) return kCompute<3, kMasked>[count - 1];
    if (slides == 5) return kCompute<5, kMasked>[count - 1];
    if (slides == 7) return kCompute<7, kMasked>[count - 1];
    if (slides == 9) return kCompute<9, kMasked>[count - 1];
    return kCompute<1, kMasked>[count - 1];
  }

  // Output rows from `y` on.
  void compute_strip(int64_t image, int64_t y, size_t first_vector, size_t end_vector, float* workspace) const {
    const int64_t width = input_shape_[2], out_w = output_shape_[2];
    const int64_t stride_h = params_.stride_h(), stride_w = params_.stride_w();
    const int64_t top = y * stride_h - params_.pad_top(), first = std::max<int64_t>(top, 0);
    const float* picture = input_ + static_cast<size_t>(image * input_shape_[1] * width) * channels_;
    float* const strip = output_ + static_cast<size_t>((image * output_shape_[1] + y) * out_w) * channels_;
    Tile tile{};
    tile.top = top - first;
    tile.lines = input_shape_[1] - first;
    tile.stride_h = stride_h;
    tile.stride_w = static_cast<size_t>(stride_w);
    tile.line = static_cast<size_t>(width) * channels_;
    tile.cell = channels_;
    tile.kernel_h = kernel_h_;
    tile.kernel_w = kernel_w_;
    tile.low = params_.output_min();
    tile.high = params_.output_max();
    tile.clamps = std::min(-tile.low, tile.high) < std::numeric_limits<float>::infinity();
    tile.rows = std::min(kBand, output_shape_[1] - y);
    tile.y_step = after_ ? kLanes : channels_;
    tile.next_step = channels_ * sizeof(float);
    tile.next_x_line = static_cast<size_t>(width) * tile.next_step;
    tile.next_y_row = static_cast<size_t>(out_w) * tile.next_step;
    for (int64_t x = 0, count; x < out_w; x += count) {
      const int64_t pieces = (out_w - x + static_cast<int64_t>(kPixels) - 1) / static_cast<int64_t>(kPixels);
      count = (out_w - x + pieces - 1) / pieces;
      const int64_t left = x * stride_w - params_.pad_left();
      tile.y_row = static_cast<size_t>(after_ ? count : out_w) * tile.y_step;
      for (size_t vector = first_vector; vector < end_vector; ++vector) {
        const int64_t channels = static_cast<int64_t>(channels_);
        // The next tile: of the next vector, of the pixels to the right, or of the next strip.
        const bool turns = vector + 1 == end_vector, ends = turns && x + count == out_w;
        const int64_t next_c = static_cast<int64_t>((turns ? first_vector : vector + 1) * kLanes);
        const int64_t next_x = ends ? 0 : turns ? x + count : x, down = ends ? kBand : 0;
        const int64_t line = top + down * stride_h + kernel_h_ - stride_h;
        const int64_t column = next_x * stride_w - params_.pad_left() + kernel_w_ - stride_w;
        tile.next_x = address(picture, (line * width + column) * channels + next_c);
        tile.next_y = address(strip, (down * out_w + next_x) * channels + next_c);
        tile.x = picture + (first * width + left) * channels + static_cast<int64_t>(vector * kLanes);
        float* to = strip + static_cast<size_t>(x) * channels_ + vector * kLanes;
        compute_tile(tile, vector, left, count, to, workspace);
      }
    }
  }

  // `count` pixels, of which the first one's window begins at column `left` of the picture. What windows have beside
  // the picture, and lanes without a channel, are masked: the CPU touches no memory there, and they count as zeros.
  void compute_tile(Tile& tile, size_t vector, int64_t left, int64_t count, float* to, float* result) const {
    const size_t channels = std::min(channels_ - vector * kLanes, kLanes), pixels = static_cast<size_t>(count);
    const auto lanes = static_cast<__mmask16>((1u << channels) - 1);
    const int64_t width = input_shape_[2], columns = (count - 1) * params_.stride_w() + kernel_w_;
    const bool masked = left < 0 || left + columns > width || channels < kLanes;
    Inside inside;
    for (int64_t i = 0; masked && i < columns; ++i)
      inside[static_cast<size_t>(i)] = left + i >= 0 && left + i < width ? lanes : __mmask16{0};
    tile.inside = inside.data();
    tile.weights = weights_ + vector * vector_weights();
    tile.y = after_ ? result : to;
    tile.lanes = after_ ? __mmask16{0xffff} : lanes;
    (masked ? kernel<true>(pixels) : kernel<false>(pixels))(tile);
    if (after_) {
      after_(result, result, static_cast<size_t>(tile.rows) * tile.y_row);
      copy_out(result, tile.rows, count, lanes, to);
    }
  }

  [[gnu::target("avx512f")]] void copy_out(const float* from, int64_t rows, int64_t count, __mmask16 lanes,
                                           float* to) const {
    for (int64_t row = 0; row < rows; ++row, to += static_cast<size_t>(output_shape_[2]) * channels_)
      for (int64_t i = 0; i < count; ++i, from += kLanes)
        _mm512_mask_storeu_ps(to + static_cast<size_t>(i) * channels_, lanes, _mm512_load_ps(from));
  }

  const fbs::Conv2d& params_;
  size_t channels_;
  int64_t kernel_h_, kernel_w_;
  Elementwise after_;
  Shape input_shape_, output_shape_;
  size_t strips_ = 1;  // of a picture
  size_t block_ = 1;   // vectors of a task
  PackedBytes held_;
  const float *weights_ = nullptr, *input_ = nullptr;
  float *output_ = nullptr, *workspace_ = nullptr;
};

}  // namespace

bool depthwise_avx512_pays(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight) {
  return cpu.avx512f && params.groups() == weight[0] && weight[3] == 1 && weight[0] >= 8 && weight[1] <= kTallest &&
         weight[2] <= kWidest && params.dilation_h() == 1 && params.dilation_w() == 1 &&
         params.stride_h() <= kMaxStride && params.stride_w() <= kMaxStride;
}

Status create_depthwise_avx512(const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                               std::unique_ptr<Op>* out) {
  auto created = std::make_unique<DepthwiseAvx512>(params, weight);
  FERRY_TRY(created->create(source));
  *out = std::move(created);
  return {};
}

}  // namespace ferry::cpu

#else

namespace ferry::cpu {

bool depthwise_avx512_pays(const CpuFeatures&, const fbs::Conv2d&, const Shape&) { return false; }
Status create_depthwise_avx512(const fbs::Conv2d&, const Shape&, WeightSource&, std::unique_ptr<Op>*) { return {}; }

}  // namespace ferry::cpu

#endif
