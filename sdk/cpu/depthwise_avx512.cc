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
constexpr size_t kPixels = 6, kRows = 2;  // of a piece: with a block of channels, 24 of the 32 registers add up
constexpr int64_t kTallest = 16, kMostStride = 2;  // of a kernel
constexpr int64_t kBand = 4;                       // output rows for which what they read stays in the L1 cache

// The lines of the input that an output row is computed from: those of the kernel that are inside the picture.
struct Window {
  int64_t begin, end;
  int64_t top;  // where the kernel's first would be
};

// Neighbouring pixels of one or two output rows, a block of channels.
struct Piece {
  const float* const* lines;
  const Window* windows;  // one for each output row
  size_t cell, step;      // from cell to cell of a kernel's row, and from pixel to pixel
  size_t columns;         // of the kernel: those inside the picture
  const float *bias, *weights;
  int64_t row_weights;  // from row to row of the kernel
  float low, high;
  float* y;
  size_t y_stride, y_row;
  __mmask16 last;  // of the block's last vector: its channels
};

// Adds lines [begin, end) to the sums of output rows [kFirst, kEnd).
template <size_t kFirst, size_t kEnd, size_t R, size_t P, size_t V>
[[gnu::target("avx512f"), gnu::always_inline]] inline void add(const Piece& piece, size_t offset, int64_t begin,
                                                               int64_t end, __m512 (&sum)[R][P][V]) {
  const size_t step = piece.step;
  for (int64_t line = begin; line < end; ++line) {
    const float *x = piece.lines[line] + offset, *weights[R];
    for (size_t r = kFirst; r < kEnd; ++r)
      weights[r] = piece.weights + (line - piece.windows[r].top) * piece.row_weights;
    for (size_t column = 0; column < piece.columns; ++column, x += piece.cell) {
      for (size_t v = 0; v < V; ++v) {
        __m512 w[R];
        for (size_t r = kFirst; r < kEnd; ++r, weights[r - 1] += kLanes) w[r] = _mm512_load_ps(weights[r]);
#pragma GCC unroll 6
        for (size_t i = 0; i < P; ++i) {
          __m512 value = _mm512_loadu_ps(x + i * step + v * kLanes);
          if constexpr (kEnd - kFirst > 1) asm("" : "+v"(value));  // gcc would load it for each multiply-add
          for (size_t r = kFirst; r < kEnd; ++r) sum[r][i][v] = _mm512_fmadd_ps(value, w[r], sum[r][i][v]);
        }
      }
    }
  }
}

// What two output rows read both is loaded once: loads run out before multiply-adds do.
template <size_t R, size_t P, size_t V>
[[gnu::target("avx512f")]] void compute(const Piece& piece, size_t offset) {
  constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the forms without a mask
  __m512 sum[R][P][V];
  for (size_t r = 0; r < R; ++r)
#pragma GCC unroll 6
    for (size_t i = 0; i < P; ++i)
      for (size_t v = 0; v < V; ++v) sum[r][i][v] = _mm512_load_ps(piece.bias + v * kLanes);
  const Window& first = piece.windows[0];
  if constexpr (R == 1) {
    add<0, 1>(piece, offset, first.begin, first.end, sum);
  } else {
    const Window& second = piece.windows[1];
    add<0, 1>(piece, offset, first.begin, std::min(first.end, second.begin), sum);
    add<0, 2>(piece, offset, second.begin, first.end, sum);
    add<1, 2>(piece, offset, std::max(first.end, second.begin), second.end, sum);
  }
  const __m512 least = _mm512_set1_ps(piece.low), most = _mm512_set1_ps(piece.high);
  for (size_t r = 0; r < R; ++r)
#pragma GCC unroll 6
    for (size_t i = 0; i < P; ++i)
      for (size_t v = 0; v < V; ++v)  // a NaN passes
        _mm512_mask_storeu_ps(piece.y + r * piece.y_row + i * piece.y_stride + v * kLanes,
                              v + 1 == V ? piece.last : kAll,
                              _mm512_maskz_min_ps(kAll, most, _mm512_maskz_max_ps(kAll, least, sum[r][i][v])));
}

using Compute = void (*)(const Piece&, size_t);
template <size_t R, size_t V>
constexpr auto kCompute = []<size_t... P>(std::index_sequence<P...>) {
  return std::array<Compute, sizeof...(P)>{compute<R, P + 1, V>...};
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

// A task computes a strip of output rows, a few rows of a few pixels at a time. Large pictures are read where they lie, all channels of a few pixels after each
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
    strip_ = std::min<int64_t>(direct_ ? kBand : 28, output[1]);  // a ring's first rows are read again for every strip
    strips_ = (output[1] + strip_ - 1) / strip_;
    padded_ = (output[2] - 1) * params_.stride_w() + kernel_w_;
    ring_rows_ = kernel_h_ + (kBand - 1) * params_.stride_h();
    ring_size_ = static_cast<size_t>(ring_rows_) * ring_row(kBlock);
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
  // A line of the cache more than a row has: rows of 4096 bytes would take each other's places in the L1 cache.
  size_t ring_row(size_t cell) const { return static_cast<size_t>(padded_) * cell + kLanes; }
  // The picture that a strip belongs to, and rows of the output.
  int64_t image_of(int64_t strip) const { return strip / strips_; }
  int64_t first_of(int64_t strip) const { return strip % strips_ * strip_; }
  int64_t end_of(int64_t strip) const { return std::min<int64_t>(first_of(strip) + strip_, output_shape_[1]); }

  void compute_block(int64_t strip, size_t block, float* ring) const {
    const int64_t height = input_shape_[1], width = input_shape_[2];
    const size_t channels = std::min(channels_ - block * kBlock, kBlock);
    const size_t cell = channels > kLanes ? kBlock : kLanes, row_size = ring_row(cell);
    const size_t left = static_cast<size_t>(std::min<int64_t>(params_.pad_left(), padded_));
    const size_t copied = std::min(static_cast<size_t>(width), static_cast<size_t>(padded_) - left);
    std::fill_n(ring, static_cast<size_t>(ring_rows_) * row_size, 0.0f);
    const float* image = input_ + static_cast<size_t>(image_of(strip) * height * width) * channels_ + block * kBlock;
    const auto line = [&](int64_t row) { return ring + static_cast<size_t>(row % ring_rows_) * row_size; };
    int64_t next = 0;  // row to be copied
    for (int64_t y = first_of(strip); y < end_of(strip); y += kBand) {
      const int64_t last = std::min(y + kBand, end_of(strip)) - 1;
      next = std::max(next, y * params_.stride_h() - params_.pad_top());
      for (; next < std::min(last * params_.stride_h() - params_.pad_top() + kernel_h_, height); ++next)
        copy(image + static_cast<size_t>(next * width) * channels_, channels_, copied, channels,
             line(next) + left * cell, cell);
      compute_band({.cell = cell}, strip, y, line, block, block + 1, 0, output_shape_[2]);
    }
  }

  void compute_directly(int64_t strip) const {
    const int64_t height = input_shape_[1], width = input_shape_[2];
    const float* image = input_ + static_cast<size_t>(image_of(strip) * height * width) * channels_;
    const auto line = [&](int64_t row) {
      return image + (row * width - params_.pad_left()) * static_cast<int64_t>(channels_);
    };
    for (int64_t y = first_of(strip); y < end_of(strip); y += kBand)
      compute_band({.cell = channels_}, strip, y, line, 0, blocks(), begin_, end_);
  }

  // Output rows from `y` on. `line`: where a row of the input begins. `begin` and `end`: of the pixels whose windows have all
  // columns.
  template <typename Line>
  void compute_band(Piece piece, int64_t strip, int64_t y, const Line& line, size_t first_block, size_t end_block,
                    int64_t begin, int64_t end) const {
    std::array<const float*, kTallest + (kBand - 1) * kMostStride> lines;
    std::array<Window, kBand> windows{};
    const int64_t rows = std::min(kBand, end_of(strip) - y), stride_h = params_.stride_h();
    const int64_t from = std::max<int64_t>(y * stride_h - params_.pad_top(), 0);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t top = (y + i) * stride_h - params_.pad_top();
      windows[static_cast<size_t>(i)] = {std::max<int64_t>(top, 0) - from,
                                         std::min<int64_t>(top + kernel_h_, input_shape_[1]) - from, top - from};
    }
    for (int64_t i = 0; i < windows[static_cast<size_t>(rows - 1)].end; ++i)
      lines[static_cast<size_t>(i)] = line(from + i);
    piece.lines = lines.data();

    const int64_t out_w = output_shape_[2], stride = params_.stride_w();
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
        const size_t offset = static_cast<size_t>(x) * piece.step + static_cast<size_t>(skipped) * piece.cell +
                              (block - first_block) * kBlock;
        for (int64_t i = 0; i < rows; i += kRows) {
          piece.windows = &windows[static_cast<size_t>(i)];
          float* to = row + static_cast<size_t>(i * out_w + x) * channels_ + block * kBlock;
          compute_piece(piece, block, static_cast<size_t>(std::min<int64_t>(rows - i, kRows)),
                        static_cast<size_t>(count), static_cast<size_t>(skipped), offset, to);
        }
      }
    }
  }

  // `count` pixels of each row, without the kernel's first `skipped` columns.
  void compute_piece(Piece& piece, size_t block, size_t rows, size_t count, size_t skipped, size_t offset,
                     float* to) const {
    const size_t channels = std::min(channels_ - block * kBlock, kBlock), lanes = channels > kLanes ? kBlock : kLanes;
    const size_t to_row = static_cast<size_t>(output_shape_[2]) * channels_;
    alignas(64) float result[kRows * kPixels * kBlock];
    piece.bias = weights_ + block * block_weights();
    piece.weights = piece.bias + (1 + skipped) * lanes;
    piece.row_weights = kernel_w_ * static_cast<int64_t>(lanes);
    piece.y = after_ ? result : to;
    piece.y_stride = after_ ? lanes : channels_;
    piece.y_row = after_ ? count * lanes : to_row;
    piece.last = static_cast<__mmask16>(after_ ? 0xffff : (1u << ((channels - 1) % kLanes + 1)) - 1);
    const auto& compute = lanes == kBlock ? (rows == kRows ? kCompute<2, 2> : kCompute<1, 2>)
                                          : (rows == kRows ? kCompute<2, 1> : kCompute<1, 1>);
    compute[count - 1](piece, offset);
    if (after_) {
      after_(result, result, rows * count * lanes);
      for (size_t r = 0; r < rows; ++r)
        copy(result + r * piece.y_row, lanes, count, channels, to + r * to_row, channels_);
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
  int64_t ring_rows_ = 1;
  size_t ring_size_ = 0;
  const float *weights_ = nullptr, *input_ = nullptr;
  float *output_ = nullptr, *rings_ = nullptr;
};

}  // namespace

bool depthwise_avx512_pays(const fbs::Conv2d& params, const Shape& weight) {
  return params.groups() == weight[0] && weight[3] == 1 && weight[0] >= 8 && weight[1] <= kTallest &&
         params.dilation_h() == 1 && params.dilation_w() == 1 && params.stride_h() <= kMostStride &&
         params.stride_w() <= kMostStride && __builtin_cpu_supports("avx512f");
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
