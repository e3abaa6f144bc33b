#include "sdk/cpu/gemm/winograd.h"
#include "sdk/threads/xnnpack.h"

#include <algorithm>
#include <cstring>

#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/gemm/gemm.h"
#if defined(__aarch64__)
#include "sdk/cpu/elementwise/vector.h"
#endif
#include "sdk/cpu/xnnpack/weights.h"

namespace ferry::cpu {
namespace {

// Channels per vector: a compiler vector, which it splits into the machine's own.
#if defined(__aarch64__)  // uses its own vectors
constexpr bool kPlanes = true;
#else
constexpr bool kPlanes = false;  // rows pass over an NC block once, and each tile is written contiguously
constexpr size_t kLanes = 8;
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float))));
#endif

// memcpy permits any alignment.
inline __attribute__((always_inline)) void load(const float* from, Vector& to) { std::memcpy(&to, from, sizeof(to)); }
inline __attribute__((always_inline)) void store(const Vector& from, float* to) {
  std::memcpy(to, &from, sizeof(from));
}
// NaN propagates.
inline __attribute__((always_inline)) void clamp(const Vector& low, const Vector& high, Vector& value) {
#if defined(__aarch64__)
  value = cpu::clamp(value, low, high);
#else
  value = value < low ? low : value;
  value = value > high ? high : value;
#endif
}

// The paper's one-dimensional transforms, from d to y, whose elements lie `step` and `out_step` vectors apart. kernel:
// 3 taps to n elements, in double.
template <int M>
struct Transform;

// As in the paper.
template <>
struct Transform<2> {
  static inline __attribute__((always_inline)) void input(const Vector* d, int step, Vector* y, int out_step) {
    y[0] = d[0] - d[2 * step];
    y[out_step] = d[step] + d[2 * step];
    y[2 * out_step] = d[2 * step] - d[step];
    y[3 * out_step] = d[step] - d[3 * step];
  }
  static inline __attribute__((always_inline)) void output(const Vector* d, int step, Vector* y, int out_step) {
    y[0] = d[0] + d[step] + d[2 * step];
    y[out_step] = d[step] - d[2 * step] - d[3 * step];
  }
  static void kernel(const double g[3], double y[4]) {
    y[0] = g[0];
    y[1] = (g[0] + g[1] + g[2]) / 2;
    y[2] = (g[0] - g[1] + g[2]) / 2;
    y[3] = g[2];
  }
};

// Toom-Cook with points 0, a, -a, b, -b and infinity. With a = 5/8 and b = 3/2 (as in oneDNN), errors are a third of
// those with the paper's 1 and 2. Every constant is exact.
template <>
struct Transform<4> {
  static constexpr float a = 0.625f, b = 1.5f, a2 = a * a, b2 = b * b;

  static inline __attribute__((always_inline)) void input(const Vector* d, int step, Vector* y, int out_step) {
    const Vector even_a = d[4 * step] - b2 * d[2 * step], odd_a = a * (d[3 * step] - b2 * d[step]);
    const Vector even_b = d[4 * step] - a2 * d[2 * step], odd_b = b * (d[3 * step] - a2 * d[step]);
    y[0] = a2 * b2 * d[0] - (a2 + b2) * d[2 * step] + d[4 * step];
    y[out_step] = even_a + odd_a;
    y[2 * out_step] = even_a - odd_a;
    y[3 * out_step] = even_b + odd_b;
    y[4 * out_step] = even_b - odd_b;
    y[5 * out_step] = a2 * b2 * d[step] - (a2 + b2) * d[3 * step] + d[5 * step];
  }
  static inline __attribute__((always_inline)) void output(const Vector* d, int step, Vector* y, int out_step) {
    const Vector even_a = d[step] + d[2 * step], odd_a = d[step] - d[2 * step];
    const Vector even_b = d[3 * step] + d[4 * step], odd_b = d[3 * step] - d[4 * step];
    y[0] = d[0] + even_a + even_b;
    y[out_step] = a * odd_a + b * odd_b;
    y[2 * out_step] = a2 * even_a + b2 * even_b;
    y[3 * out_step] = a * a2 * odd_a + b * b2 * odd_b + d[5 * step];
  }
  static void kernel(const double g[3], double y[6]) {
    const double norm_a = 1.0 / (2 * a2 * (a2 - b2)), norm_b = 1.0 / (2 * b2 * (b2 - a2));
    y[0] = g[0] / (a2 * b2);
    y[1] = (g[0] + a * g[1] + a2 * g[2]) * norm_a;
    y[2] = (g[0] - a * g[1] + a2 * g[2]) * norm_a;
    y[3] = (g[0] + b * g[1] + b2 * g[2]) * norm_b;
    y[4] = (g[0] - b * g[1] + b2 * g[2]) * norm_b;
    y[5] = g[2];
  }
};

// Transforms the n*n cells of an input tile, one pointer each, to n*n runs of channels, `plane` elements apart.
template <int M>
FERRY_KERNEL void transform_input(const float* const* cells, size_t channels, size_t plane, float* out) {
  constexpr int n = M + 2;
  for (size_t c = 0; c < channels; c += kLanes) {
    Vector columns[n * n];
    for (int i = 0; i < n; ++i) {
      Vector x[n];
#pragma GCC unroll 6
      for (int j = 0; j < n; ++j) load(cells[n * j + i] + c, x[j]);
      Transform<M>::input(x, 1, columns + i, n);
    }
    for (int i = 0; i < n; ++i) {
      Vector y[n];
      Transform<M>::input(columns + n * i, 1, y, 1);
#pragma GCC unroll 6
      for (int j = 0; j < n; ++j) store(y[j], out + static_cast<size_t>(n * i + j) * plane + c);
    }
  }
}

// Transforms such runs to the m*m pixels of an output tile; a null pointer is a pixel outside the output.
template <int M>
FERRY_KERNEL void transform_output(const float* in, size_t channels, size_t plane, const float* bias, float low,
                                   float high, float* const* pixels) {
  constexpr int n = M + 2;
  const Vector minimum = Vector{} + low, maximum = Vector{} + high;
  for (size_t c = 0; c < channels; c += kLanes) {
    Vector columns[M * n], b;
    load(bias + c, b);
    for (int i = 0; i < n; ++i) {
      Vector x[n];
#pragma GCC unroll 6
      for (int j = 0; j < n; ++j) load(in + static_cast<size_t>(n * j + i) * plane + c, x[j]);
      Transform<M>::output(x, 1, columns + i, n);
    }
    for (int i = 0; i < M; ++i) {
      Vector y[M];
      Transform<M>::output(columns + n * i, 1, y, 1);
#pragma GCC unroll 4
      for (int j = 0; j < M; ++j) {
        Vector value = y[j] + b;
        clamp(minimum, maximum, value);
        if (pixels[M * i + j] != nullptr) store(value, pixels[M * i + j] + c);
      }
    }
  }
}

// Transforms kernels [O,3,3,I] to [n*n,O,I].
template <int M>
void transform_kernels(const float* from, size_t outputs, size_t inputs, float* to) {
  constexpr int n = M + 2;
  for (size_t o = 0; o < outputs; ++o) {
    for (size_t c = 0; c < inputs; ++c) {
      double columns[3][n], rows[n][3], y[n][n];
      for (size_t i = 0; i < 3; ++i) {
        double g[3];
        for (size_t j = 0; j < 3; ++j) g[j] = static_cast<double>(from[((o * 3 + i) * 3 + j) * inputs + c]);
        Transform<M>::kernel(g, columns[i]);
      }
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < 3; ++j) rows[i][j] = columns[j][i];
      for (int i = 0; i < n; ++i) Transform<M>::kernel(rows[i], y[i]);  // y is transposed
      for (int i = 0; i < n * n; ++i)
        to[(static_cast<size_t>(i) * outputs + o) * inputs + c] = static_cast<float>(y[i % n][i / n]);
    }
  }
}

constexpr fbs::OpParams kType = fbs::OpParams::Conv2d;

// Transformed kernels as the products' weights: [n*n,O,I]. The bias is added after the output transform.
template <int M>
class TransformedKernels : public WeightSource {
 public:
  TransformedKernels(const Model& model, const fbs::Operator& op, size_t outputs, size_t inputs)
      : WeightSource(model, op), outputs_(outputs), inputs_(inputs) {}

  bool has_bias() const override { return false; }

 protected:
  void describe(PackingId* id) const override {
    constexpr uint32_t kVersion = 1;  // of the transforms
    *id = PackingId("winograd", kVersion).add(M).add(id->value());
  }

  Status transform(FloatConstant* weight, FloatConstant* bias) override {
    std::vector<float> kernels((M + 2) * (M + 2) * outputs_ * inputs_);
    transform_kernels<M>(weight->data, outputs_, inputs_, kernels.data());
    weight->storage = std::move(kernels);
    weight->data = weight->storage.data();
    *bias = {};
    return {};
  }

 private:
  size_t outputs_, inputs_;
};

// Packs the bias, or zeros: [O].
Status pack_bias(WeightSource& source, size_t outputs, PackedBytes* out) {
  const auto fill = [&](const float*, const float* bias, float* to) {
    bias != nullptr ? std::copy_n(bias, outputs, to) : std::fill_n(to, outputs, 0.0f);
  };
  return source.packed_values<float>(PackingId("bias", 1), outputs * sizeof(float), fill, out);
}

// A matrix product per point: [tiles,points*inputs] to [tiles,points*outputs].
class Products : public Op {
 public:
  [[gnu::cold]] Status create(const Gemm& gemm, WeightSource& source) {
    const PackingId id = PackingId("xnnpack convolution2d f32", kXnnLayouts).add(gemm.groups);
    const XnnPacking packing{.source = source, .id = id};
    const auto create = [&](const void* weight, const float* bias, xnn_weights_cache_t cache, xnn_operator_t* op) {
      return xnn_create_convolution2d_nhwc_f32(0, 0, 0, 0, 1, 1, 1, 1, 1, 1, static_cast<uint32_t>(gemm.groups),
                                               gemm.inputs, gemm.outputs, gemm.groups * gemm.inputs,
                                               gemm.groups * gemm.outputs, floats(weight), bias, gemm.output_min,
                                               gemm.output_max, /*flags=*/0, /*code_cache=*/nullptr, cache, op);
    };
    return create_packed(packing, kType, create, &xnn_);
  }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    size_t bytes = 0, alignment = 0, rows = 0, columns = 0;
    FERRY_TRY(check(xnn_reshape_convolution2d_nhwc_f32(xnn_.get(), 1, 1, static_cast<size_t>(inputs[0][0]), &bytes,
                                                       &alignment, &rows, &columns, as_xnnpack(pool)),
                    kType, "reshaping"));
    *workspace = bytes;
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void*) override {
    return check(xnn_setup_convolution2d_nhwc_f32(xnn_.get(), /*workspace=*/nullptr, floats(inputs[0]), floats(output)),
                 kType, "setting up");
  }

  Status run(Pool* pool) override { return check(xnn_run_operator(xnn_.get(), as_xnnpack(pool)), kType, "running"); }

 private:
  PackedXnn xnn_;
};

template <int M>
class Winograd : public Op {
 public:
  explicit Winograd(const fbs::Conv2d& params) : params_(params) {}

  [[gnu::cold]] Status create(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op) {
    const Shape w = model.shape(op.inputs()->Get(1));
    outputs_ = static_cast<size_t>(w[0]);
    inputs_ = static_cast<size_t>(w[3]);
    zeros_.assign(inputs_, 0.0f);
    WeightSource plain(model, op);
    FERRY_TRY(pack_bias(plain, outputs_, &bias_));
    TransformedKernels<M> source(model, op, outputs_, inputs_);
    const float infinity = std::numeric_limits<float>::infinity();
    Gemm gemm{kPoints, inputs_, outputs_, -infinity, infinity};
    if (gemm_pays(cpu, tiles(model.shape(op.outputs()->Get(0))), gemm)) {
      planes_ = gemm.planes = kPlanes;
      return create_gemm(cpu, gemm, source, &products_);
    }
    auto products = std::make_unique<Products>();
    FERRY_TRY(products->create(gemm, source));
    products_ = std::move(products);
    return {};
  }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool,
                               uint64_t* workspace) override {
    height_ = inputs[0][1];
    width_ = inputs[0][2];
    out_height_ = output[1];
    out_width_ = output[2];
    tiles_y_ = (out_height_ + M - 1) / M;
    tiles_x_ = (out_width_ + M - 1) / M;
    tiles_ = tiles(output);
    // As many tiles per block as stay in the cache between the three steps; all blocks have the same size.
    constexpr size_t kBlockBytes = 4 << 20;
    const size_t tile_bytes = kPoints * (inputs_ + outputs_) * sizeof(float);
    const size_t maximum = std::max<size_t>(kBlockBytes / tile_bytes, 16);
    blocks_ = (tiles_ + maximum - 1) / maximum;
    block_ = (tiles_ + blocks_ - 1) / blocks_;
    uint64_t own = 0;
    const Shape rows{static_cast<int32_t>(block_), static_cast<int32_t>(kPoints * inputs_)};
    FERRY_TRY(products_->reshape({&rows, 1}, output, pool, &own));
    in_plane_ = planes_ ? gemm_plane(block_, inputs_) : inputs_;
    out_plane_ = planes_ ? gemm_plane(block_, outputs_) : outputs_;
    const size_t count = kPoints * (planes_ ? 1 : block_);
    transformed_bytes_ = padded_size(count * in_plane_ * sizeof(float));
    multiplied_bytes_ = padded_size(count * out_plane_ * sizeof(float));
    *workspace = uint64_t{transformed_bytes_} + multiplied_bytes_ + own;
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    transformed_ = floats(workspace);
    std::byte* const multiplied = static_cast<std::byte*>(workspace) + transformed_bytes_;
    multiplied_ = floats(static_cast<void*>(multiplied));
    const void* from = transformed_;
    return products_->setup({&from, 1}, multiplied_, multiplied + multiplied_bytes_);
  }

  Status run(Pool* pool) override {
    for (size_t block = 0; block < blocks_; ++block) {
      const size_t first = block * block_;
      parallel_rows(pool, block_, kPoints * inputs_, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) read_tile(first + i, transformed_ + i * inputs_ * (planes_ ? 1 : kPoints));
      });
      FERRY_TRY(products_->run(pool));
      parallel_rows(pool, std::min(block_, tiles_ - std::min(first, tiles_)), kPoints * outputs_,
                    [&](size_t begin, size_t end) {
                      for (size_t i = begin; i < end; ++i)
                        write_tile(first + i, multiplied_ + i * outputs_ * (planes_ ? 1 : kPoints));
                    });
    }
    return {};
  }

 private:
  static constexpr int kSide = M + 2;
  static constexpr size_t kPoints = kSide * kSide;

  void read_tile(size_t tile, float* to) const {
    if (tile >= tiles_) {  // the last block may be partial
      for (size_t i = 0; i < kPoints; ++i) std::fill_n(to + i * in_plane_, inputs_, 0.0f);
      return;
    }
    const auto index = static_cast<int64_t>(tile);
    const int64_t top = index / tiles_x_ % tiles_y_ * M - params_.pad_top();
    const int64_t left = index % tiles_x_ * M - params_.pad_left();
    const float* image = input_ + index / (tiles_x_ * tiles_y_) * height_ * width_ * static_cast<int64_t>(inputs_);
    const float* cells[kPoints];
    for (int64_t i = 0; i < static_cast<int64_t>(kPoints); ++i) {
      const int64_t y = top + i / kSide, x = left + i % kSide;
      const bool inside = y >= 0 && y < height_ && x >= 0 && x < width_;
      cells[i] = inside ? image + (y * width_ + x) * static_cast<int64_t>(inputs_) : zeros_.data();
    }
    transform_input<M>(cells, inputs_, in_plane_, to);
  }

  void write_tile(size_t tile, const float* from) const {
    const auto index = static_cast<int64_t>(tile);
    const int64_t top = index / tiles_x_ % tiles_y_ * M, left = index % tiles_x_ * M;
    float* image = output_ + index / (tiles_x_ * tiles_y_) * out_height_ * out_width_ * static_cast<int64_t>(outputs_);
    float* pixels[M * M];
    for (int64_t i = 0; i < M * M; ++i) {
      const int64_t y = top + i / M, x = left + i % M;
      const bool inside = y < out_height_ && x < out_width_;
      pixels[i] = inside ? image + (y * out_width_ + x) * static_cast<int64_t>(outputs_) : nullptr;
    }
    transform_output<M>(from, outputs_, out_plane_, floats(bias_.get()), params_.output_min(), params_.output_max(),
                        pixels);
  }

  static size_t tiles(const Shape& output) {
    return static_cast<size_t>(output[0] * ((output[1] + M - 1) / M) * ((output[2] + M - 1) / M));
  }

  const fbs::Conv2d& params_;
  std::unique_ptr<Op> products_;
  bool planes_ = false;  // transformed data is grouped by point, otherwise by tile
  size_t inputs_ = 0, outputs_ = 0, in_plane_ = 0, out_plane_ = 0;
  std::vector<float> zeros_;
  PackedBytes bias_;
  int64_t height_ = 0, width_ = 0, out_height_ = 0, out_width_ = 0, tiles_y_ = 0, tiles_x_ = 0;
  size_t tiles_ = 0, blocks_ = 0, block_ = 0, transformed_bytes_ = 0, multiplied_bytes_ = 0;
  const float* input_ = nullptr;
  float *output_ = nullptr, *transformed_ = nullptr, *multiplied_ = nullptr;
};

template <int M>
[[gnu::cold]] Status create(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op,
                            std::unique_ptr<Op>* out) {
  auto winograd = std::make_unique<Winograd<M>>(*op.params_as_Conv2d());
  FERRY_TRY(winograd->create(cpu, model, op));
  *out = std::move(winograd);
  return {};
}

static_assert(kWinogradHere.lanes == static_cast<int64_t>(kLanes));

// Cost of `points` matrix products of `rows` rows, per input and output channel. Reading a weight from memory costs as
// much as 20 multiplications.
double products(const WinogradCosts& costs, double points, int64_t rows) {
  return points * (costs.row * static_cast<double>((rows + costs.rows - 1) / costs.rows * costs.rows) + 20);
}

}  // namespace

int winograd_tile(const fbs::Conv2d& params, const Shape& weight, const Shape& output, const WinogradCosts& costs) {
  const int64_t outputs = weight[0], inputs = weight[3];
  if (weight[1] != 3 || weight[2] != 3 || params.groups() != 1 || params.stride_h() != 1 || params.stride_w() != 1 ||
      params.dilation_h() != 1 || params.dilation_w() != 1 || inputs % costs.lanes != 0 || outputs % costs.lanes != 0)
    return 0;
  const int64_t batch = output[0], height = output[1], width = output[2];
  int best = 0;
  double minimum = 0.9 * products(costs, 9, batch * height * width);  // a gain below 10 % is not worth the memory
  for (const int m : {2, 4}) {
    const int64_t tiles = batch * ((height + m - 1) / m) * ((width + m - 1) / m);
    const double points = (m + 2) * (m + 2);
    const double moved = static_cast<double>(tiles) * points * static_cast<double>(inputs + outputs);
    const double cost = products(costs, points, tiles) + costs.moved * moved / static_cast<double>(inputs * outputs);
    if (cost >= minimum) continue;
    best = m;
    minimum = cost;
  }
  return best;
}

Status create_winograd(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, int tile,
                       std::unique_ptr<Op>* out) {
  return tile == 2 ? create<2>(cpu, model, op, out) : create<4>(cpu, model, op, out);
}

}  // namespace ferry::cpu
