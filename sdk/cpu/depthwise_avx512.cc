#include "sdk/cpu/depthwise_avx512.h"

#if defined(__x86_64__) && defined(__gnu_linux__)

#include <immintrin.h>
#include <pthreadpool.h>

#include <algorithm>
#include <utility>

#include "sdk/cpu/unary.h"

namespace ferry::cpu {
namespace {

constexpr size_t kLanes = 16, kBlock = 2 * kLanes;  // channels
constexpr size_t kPixels = 7;                       // at once; pictures for classifiers are multiples of 7 wide
constexpr int64_t kTallest = 16;                    // kernel

// Neighbouring pixels of an output row, a block of channels.
struct Piece {
  std::array<const float*, kTallest> rows;  // of the input: the kernel's, but for those outside the picture
  size_t row_count;
  size_t cell, step;     // from cell to cell of a kernel's row, and from pixel to pixel
  size_t columns, skip;  // of the kernel: those inside the picture; weights of those outside
  const float *bias, *weights;
  float low, high;
  float* y;
  size_t y_stride;
  __mmask16 last;  // of the block's last vector: its channels
};

template <size_t P, size_t V>
[[gnu::target("avx512f")]] void compute(const Piece& piece, size_t offset) {
  constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the forms without a mask
  __m512 sum[P][V], w[V];
  for (size_t i = 0; i < P; ++i)
    for (size_t v = 0; v < V; ++v) sum[i][v] = _mm512_load_ps(piece.bias + v * kLanes);
  const float* weights = piece.weights;
  const size_t step = piece.step;
  for (size_t row = 0; row < piece.row_count; ++row, weights += piece.skip) {
    const float* x = piece.rows[row] + offset;
    for (size_t column = 0; column < piece.columns; ++column, x += piece.cell, weights += V * kLanes) {
      for (size_t v = 0; v < V; ++v) w[v] = _mm512_load_ps(weights + v * kLanes);
#pragma GCC unroll 7
      for (size_t i = 0; i < P; ++i)
        for (size_t v = 0; v < V; ++v)
          sum[i][v] = _mm512_fmadd_ps(_mm512_loadu_ps(x + i * step + v * kLanes), w[v], sum[i][v]);
    }
  }
  const __m512 least = _mm512_set1_ps(piece.low), most = _mm512_set1_ps(piece.high);
  for (size_t i = 0; i < P; ++i)
    for (size_t v = 0; v < V; ++v)  // a NaN passes
      _mm512_mask_storeu_ps(piece.y + i * piece.y_stride + v * kLanes, v + 1 == V ? piece.last : kAll,
                            _mm512_maskz_min_ps(kAll, most, _mm512_maskz_max_ps(kAll, least, sum[i][v])));
}

using Compute = void (*)(const Piece&, size_t);
template <size_t V>
constexpr auto kCompute = []<size_t... P>(std::index_sequence<P...>) {
  return std::array<Compute, sizeof...(P)>{compute<P + 1, V>...};
}
(std::make_index_sequence<kPixels>());

// `count` pixels, `channels` of each: at most kBlock.
[[gnu::target("avx512f")]] void copy(const float* from, size_t stride, size_t count, size_t channels, float* to,
                                     size_t to_stride) {
  const auto last = static_cast<__mmask16>((1u << ((channels - 1) % kLanes + 1)) - 1);
  for (size_t i = 0; i < count; ++i, from += stride, to += to_stride) {
    if (channels > kLanes) _mm512_storeu_ps(to, _mm512_loadu_ps(from));
    const size_t v = channels > kLanes ? kLanes : 0;
    _mm512_mask_storeu_ps(to + v, last, _mm512_maskz_loadu_ps(last, from + v));
  }
}

// A task computes a strip of output rows. Large pictures are read where they lie, all channels of a few pixels after each
// other, as memory likes it. From small ones a task takes a block of channels and copies the rows that it needs, each
// once, into a ring: there they are dense and have borders of zeros.
class DepthwiseAvx512 : public Op {
 public:
  DepthwiseAvx512(const fbs::Conv2d& params, const Shape& weight)
      : params_(params), channels_(static_cast<size_t>(weight[0])), kernel_h_(weight[1]), kernel_w_(weight[2]) {}

  Status create(const float* weight, const float* bias, WeightsCache::Creation& creation) {
    const size_t cells = static_cast<size_t>(kernel_h_ * kernel_w_);
    bool fresh = false;
    float* to = static_cast<float*>(creation.own(blocks() * block_weights() * sizeof(float), &fresh));
    if (to == nullptr) return error(FERRY_OUT_OF_MEMORY, "no memory for packed weights");
    weights_ = to;
    for (size_t block = 0; fresh && block < blocks(); ++block, to += block_weights()) {
      const size_t lanes = channels_ - block * kBlock > kLanes ? kBlock : kLanes;
      for (size_t lane = 0; lane < lanes; ++lane) {
        const size_t c = block * kBlock + lane;
        const bool exists = c < channels_;
        to[lane] = exists && bias != nullptr ? bias[c] : 0.0f;
        for (size_t i = 0; i < cells; ++i) to[(i + 1) * lanes + lane] = exists ? weight[c * cells + i] : 0.0f;
      }
    }
    return {};
  }

  Status reshape(std::span<const Shape> inputs, const Shape& output, pthreadpool_t pool, size_t* workspace) override {
    input_shape_ = inputs[0];
    output_shape_ = output;
    begin_ = (params_.pad_left() + params_.stride_w() - 1) / params_.stride_w();
    const int64_t room = input_shape_[2] + params_.pad_left() - kernel_w_;
    end_ = room < 0 ? begin_ : std::max(room / params_.stride_w() + 1, begin_);
    // Pixels at the borders are computed one by one where the picture lies, and vectors are read whole.
    direct_ = channels_ % kLanes == 0 && 8 * (end_ - begin_) >= 7 * output[2];
    strip_ = std::min<int64_t>(direct_ ? 4 : 28, output[1]);  // a ring's first rows are read again for every strip
    strips_ = (output[1] + strip_ - 1) / strip_;
    padded_ = (output[2] - 1) * params_.stride_w() + kernel_w_;
    ring_size_ = static_cast<size_t>(kernel_h_ * padded_) * kBlock;
    *workspace = direct_ ? 0 : pthreadpool_get_threads_count(pool) * ring_size_ * sizeof(float);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    rings_ = floats(workspace);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    const auto task = [](void* self, size_t thread, size_t strip, size_t block) {
      const auto* op = static_cast<const DepthwiseAvx512*>(self);
      const int64_t index = static_cast<int64_t>(strip);
      op->direct_ ? op->compute_directly(index) : op->compute_block(index, block, op->rings_ + thread * op->ring_size_);
    };
    const size_t strips = static_cast<size_t>(output_shape_[0] * strips_);
    pthreadpool_parallelize_2d_with_thread(pool, task, this, strips, direct_ ? 1 : blocks(),
                                           PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return {};
  }

  bool fuse(const fbs::Unary& next) override {
    after_ = elementwise(next);
    return static_cast<bool>(after_);
  }

 private:
  size_t blocks() const { return (channels_ + kBlock - 1) / kBlock; }
  size_t block_weights() const { return static_cast<size_t>(kernel_h_ * kernel_w_ + 1) * kBlock; }
  // The picture that a strip belongs to, and rows of the output.
  int64_t image_of(int64_t strip) const { return strip / strips_; }
  int64_t first_of(int64_t strip) const { return strip % strips_ * strip_; }
  int64_t end_of(int64_t strip) const { return std::min<int64_t>(first_of(strip) + strip_, output_shape_[1]); }

  void compute_block(int64_t strip, size_t block, float* ring) const {
    const int64_t height = input_shape_[1], width = input_shape_[2];
    const size_t channels = std::min(channels_ - block * kBlock, kBlock);
    const size_t cell = channels > kLanes ? kBlock : kLanes, row_size = static_cast<size_t>(padded_) * cell;
    const size_t left = static_cast<size_t>(std::min<int64_t>(params_.pad_left(), padded_));
    const size_t copied = std::min(static_cast<size_t>(width), static_cast<size_t>(padded_) - left);
    std::fill_n(ring, static_cast<size_t>(kernel_h_) * row_size, 0.0f);
    const float* image = input_ + static_cast<size_t>(image_of(strip) * height * width) * channels_ + block * kBlock;
    Piece piece{.cell = cell};
    int64_t next = 0;  // row to be copied
    for (int64_t y = first_of(strip); y < end_of(strip); ++y) {
      const int64_t top = y * params_.stride_h() - params_.pad_top(), bottom = std::min(top + kernel_h_, height);
      next = std::max(next, top);
      for (; next < bottom; ++next)
        copy(image + static_cast<size_t>(next * width) * channels_, channels_, copied, channels,
             ring + static_cast<size_t>(next % kernel_h_) * row_size + left * cell, cell);
      piece.row_count = 0;
      for (int64_t i = std::max<int64_t>(top, 0); i < bottom; ++i)
        piece.rows[piece.row_count++] = ring + static_cast<size_t>(i % kernel_h_) * row_size;
      compute_row(piece, strip, y, block, block + 1, 0, output_shape_[2]);
    }
  }

  void compute_directly(int64_t strip) const {
    const int64_t height = input_shape_[1], width = input_shape_[2];
    const float* image = input_ + static_cast<size_t>(image_of(strip) * height * width) * channels_;
    Piece piece{.cell = channels_};
    for (int64_t y = first_of(strip); y < end_of(strip); ++y) {
      const int64_t top = y * params_.stride_h() - params_.pad_top(), bottom = std::min(top + kernel_h_, height);
      piece.row_count = 0;
      for (int64_t i = std::max<int64_t>(top, 0); i < bottom; ++i)
        piece.rows[piece.row_count++] = image + (i * width - params_.pad_left()) * static_cast<int64_t>(channels_);
      compute_row(piece, strip, y, 0, blocks(), begin_, end_);
    }
  }

  // `begin` and `end`: of the pixels whose windows have all columns.
  void compute_row(Piece& piece, int64_t strip, int64_t y, size_t first_block, size_t end_block, int64_t begin,
                   int64_t end) const {
    const int64_t out_w = output_shape_[2], stride = params_.stride_w();
    const int64_t above = std::max<int64_t>(params_.pad_top() - y * params_.stride_h(), 0);
    float* row = output_ + static_cast<size_t>((image_of(strip) * output_shape_[1] + y) * out_w) * channels_;
    piece.step = static_cast<size_t>(stride) * piece.cell;
    piece.low = params_.output_min();
    piece.high = params_.output_max();
    for (int64_t x = 0, count; x < out_w; x += count) {
      int64_t skipped = 0, columns = kernel_w_;
      if (x >= begin && x < end) {
        const int64_t pieces = (end - x + static_cast<int64_t>(kPixels) - 1) / static_cast<int64_t>(kPixels);
        count = (end - x + pieces - 1) / pieces;
      } else {
        const int64_t left = x * stride - params_.pad_left();
        skipped = std::clamp<int64_t>(-left, 0, kernel_w_);
        columns = std::clamp<int64_t>(input_shape_[2] - left, skipped, kernel_w_) - skipped;
        count = 1;
      }
      piece.columns = static_cast<size_t>(columns);
      for (size_t block = first_block; block < end_block; ++block) {
        const size_t channels = std::min(channels_ - block * kBlock, kBlock),
                     lanes = channels > kLanes ? kBlock : kLanes;
        alignas(64) float result[kPixels * kBlock];
        float* to = row + static_cast<size_t>(x) * channels_ + block * kBlock;
        piece.bias = weights_ + block * block_weights();
        piece.weights = piece.bias + static_cast<size_t>(1 + above * kernel_w_ + skipped) * lanes;
        piece.skip = static_cast<size_t>(kernel_w_ - columns) * lanes;
        piece.y = after_ ? result : to;
        piece.y_stride = after_ ? lanes : channels_;
        piece.last = static_cast<__mmask16>(after_ ? 0xffff : (1u << ((channels - 1) % kLanes + 1)) - 1);
        const auto& compute = lanes == kBlock ? kCompute<2> : kCompute<1>;
        compute[static_cast<size_t>(count - 1)](piece, static_cast<size_t>(x) * piece.step +
                                                           static_cast<size_t>(skipped) * piece.cell +
                                                           (block - first_block) * kBlock);
        if (after_) {
          after_(result, result, static_cast<size_t>(count) * lanes);
          copy(result, lanes, static_cast<size_t>(count), channels, to, channels_);
        }
      }
    }
  }

  const fbs::Conv2d& params_;
  size_t channels_;
  int64_t kernel_h_, kernel_w_;
  Elementwise after_;
  Shape input_shape_, output_shape_;
  bool direct_ = false;
  int64_t begin_ = 0, end_ = 0;  // pixels whose windows are inside the picture's width
  int64_t padded_ = 0;           // width of a row with its borders
  int64_t strip_ = 1, strips_ = 1;
  size_t ring_size_ = 0;
  const float *weights_ = nullptr, *input_ = nullptr;
  float *output_ = nullptr, *rings_ = nullptr;
};

}  // namespace

bool depthwise_avx512_pays(const fbs::Conv2d& params, const Shape& weight) {
  return params.groups() == weight[0] && weight[3] == 1 && weight[0] >= 8 && weight[1] <= kTallest &&
         params.dilation_h() == 1 && params.dilation_w() == 1 && params.stride_w() <= 2 &&
         __builtin_cpu_supports("avx512f");
}

Status create_depthwise_avx512(const fbs::Conv2d& params, const Shape& shape, const float* weight, const float* bias,
                               WeightsCache::Creation& creation, std::unique_ptr<Op>* out) {
  auto created = std::make_unique<DepthwiseAvx512>(params, shape);
  FERRY_TRY(created->create(weight, bias, creation));
  *out = std::move(created);
  return {};
}

}  // namespace ferry::cpu

#else

namespace ferry::cpu {

bool depthwise_avx512_pays(const fbs::Conv2d&, const Shape&) { return false; }
Status create_depthwise_avx512(const fbs::Conv2d&, const Shape&, const float*, const float*, WeightsCache::Creation&,
                               std::unique_ptr<Op>*) {
  return {};
}

}  // namespace ferry::cpu

#endif
