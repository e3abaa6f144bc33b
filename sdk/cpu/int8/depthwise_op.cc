// Depthwise convolutions of Int8 activations by the kernels of depthwise.h.
#include <algorithm>

#include "sdk/cpu/int8/depthwise.h"
#include "sdk/cpu/int8/products.h"
#include "sdk/threads/loops.h"

namespace ferry::cpu {
namespace {

constexpr uint32_t kInt8DepthwiseLayout = 1;  // version
constexpr size_t kTasksPerThread = 4;

Int8DepthwiseShape depthwise_shape(const fbs::Conv2d& params, const Shape& weight) {
  return {static_cast<size_t>(weight[0]), static_cast<size_t>(weight[1]), static_cast<size_t>(params.stride_h())};
}

// A task computes a strip of output rows for some blocks of channels.
class Int8Depthwise : public Op {
 public:
  explicit Int8Depthwise(const Weighted& weighted)
      : params_(*weighted.op.params_as_Conv2d()),
        kernel_(*int8_depthwise_kernel(weighted.cpu)),
        shape_(depthwise_shape(params_, weighted.weight)) {}

  Status create(const Weighted& weighted) {
    const Int8Product product(weighted);
    FERRY_TRY(product.check(weighted.op.params_type()));
    rows_.zero_point = product.from.zero_point;
    rows_.out_zero_point = product.to.zero_point;
    rows_.low = product.low;
    rows_.high = product.high;
    Int8Weights source(weighted.model, weighted.op);
    const PackingId id = product.identity(kernel_.layout, kInt8DepthwiseLayout).add(shape_.stride);
    const auto pack = [&](std::byte* to) -> Status {
      const void* weight = nullptr;
      const float* bias = nullptr;
      FERRY_TRY(source.load(&weight, &bias));
      std::vector<float> multipliers;
      for (const float scale : product.scales) multipliers.push_back(product.from.scale * scale / product.to.scale);
      const Int8DepthwiseWeights weights{integers(weight), reinterpret_cast<const int32_t*>(bias), multipliers.data(),
                                         product.from.zero_point};
      kernel_.pack(shape_, weights, to);
      return {};
    };
    return source.packed(id, 0, kernel_.packed_bytes(shape_), pack, &packed_);
  }

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override {
    const size_t threads = pool->threads(), tasks = threads > 1 ? kTasksPerThread * threads : 1;
    images_ = static_cast<size_t>(output[0]);
    rows_.height = inputs[0][1];
    rows_.width = inputs[0][2];
    rows_.pad_top = params_.pad_top();
    rows_.pad_left = params_.pad_left();
    rows_.out_width = output[2];
    out_height_ = static_cast<size_t>(output[1]);
    // Strips are whole groups of rows, and blocks are apart only where there are too few strips.
    const size_t group = int8_depthwise_group(shape_), groups = (out_height_ + group - 1) / group;
    strip_ = (groups + tasks - 1) / tasks * group;
    const size_t strips = images_ * ((out_height_ + strip_ - 1) / strip_), blocks = kernel_.blocks(shape_);
    const size_t ranges = std::min((tasks + strips - 1) / strips, blocks);
    blocks_ = (blocks + ranges - 1) / ranges;
    *workspace = uint64_t{threads} * kInt8DepthwiseScratch;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = integers(inputs[0]);
    output_ = integers(output);
    workspace_ = static_cast<std::byte*>(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    const Grid<3, 2> grid{{images_, out_height_, kernel_.blocks(shape_)}, {strip_, blocks_}};
    parallel(pool, grid, [&](Pool::Share& share, size_t n, size_t from, size_t block, size_t rows, size_t blocks) {
      Int8DepthwiseRows strip = rows_;
      const auto line = static_cast<size_t>(strip.width) * shape_.channels;
      const auto row = static_cast<size_t>(strip.out_width) * shape_.channels;
      strip.x = input_ + n * static_cast<size_t>(strip.height) * line;
      strip.y = output_ + (n * out_height_ + from) * row;
      strip.from = static_cast<int64_t>(from);
      strip.to = static_cast<int64_t>(from + rows);
      strip.first_block = block;
      strip.end_block = block + blocks;
      strip.scratch = workspace_ + share.thread() * kInt8DepthwiseScratch;
      kernel_.compute(shape_, packed_.get(), strip);
    });
    return {};
  }

 private:
  const fbs::Conv2d& params_;
  const Int8DepthwiseKernel& kernel_;
  const Int8DepthwiseShape shape_;
  Int8DepthwiseRows rows_{};  // what all tasks have in common
  size_t images_ = 0, out_height_ = 0, strip_ = 1, blocks_ = 1;
  PackedBytes packed_;
  const int8_t* input_ = nullptr;
  int8_t* output_ = nullptr;
  std::byte* workspace_ = nullptr;
};

}  // namespace

bool int8_depthwise_applies(const Weighted& weighted) {
  constexpr int32_t kFewestChannels = 8;
#if defined(__aarch64__)
  constexpr bool kStrided = false;  // as many instructions as XNNPACK's
#else
  constexpr bool kStrided = true;
#endif
  const fbs::Conv2d& p = *weighted.op.params_as_Conv2d();
  const Shape& w = weighted.weight;
  const int32_t stride = p.stride_h();
  return has_int8_depthwise(weighted.cpu) && p.groups() == w[0] && w[3] == 1 && w[0] >= kFewestChannels &&
         w[1] == w[2] && (w[1] == 5 || (w[1] == 3 && (kStrided || stride == 1))) && stride == p.stride_w() &&
         stride <= 2 && p.dilation_h() == 1 && p.dilation_w() == 1;
}

Status create_int8_depthwise(const Weighted& weighted, std::unique_ptr<Op>* out) {
  auto depthwise = std::make_unique<Int8Depthwise>(weighted);
  FERRY_TRY(depthwise->create(weighted));
  *out = std::move(depthwise);
  return add_wide_channels(weighted, out);
}

}  // namespace ferry::cpu
