// Deformable convolution: samples the kernel's cells at some output pixels into rows and multiplies these with panels
// of the weight. Only some cells are sampled at a time, so that rows stay in the L2 cache.
#include <algorithm>
#include <array>
#include <cmath>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/packing.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/gemm/products.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

constexpr size_t kDeformRows = kRowsAtOnce;  // output pixels that are sampled and multiplied together
constexpr size_t kDeformDepth = 512;         // target elements per row

// The two rows, or columns, around a sampling position, and their weights.
struct Between {
  std::array<size_t, 2> at;
  std::array<float, 2> weights;
};

// Returns false if the position lies outside of the image.
bool find(float offset, int64_t from, int64_t size, Between* out) {
  if (!(std::fabs(offset) < 0x1p40f)) return false;  // or NaN
  const float whole = std::floor(offset), rest = offset - whole;
  const int64_t first = from + static_cast<int64_t>(whole);
  if (first < -1 || first >= size) return false;
  *out = {{static_cast<size_t>(std::max<int64_t>(first, 0)), static_cast<size_t>(std::min(first + 1, size - 1))},
          {first < 0 ? 0.0f : 1 - rest, first + 1 < size ? rest : 0.0f}};
  return true;
}

void blend(const std::array<const float*, 4>& corners, const std::array<float, 4>& weights, size_t count, float* out) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    Quad sum = *reinterpret_cast<const Quad*>(corners[0] + i) * weights[0];
    for (size_t k = 1; k < 4; ++k) sum += *reinterpret_cast<const Quad*>(corners[k] + i) * weights[k];
    *reinterpret_cast<Quad*>(out + i) = sum;
  }
  for (; i < count; ++i) {
    out[i] = corners[0][i] * weights[0];
    for (size_t k = 1; k < 4; ++k) out[i] += corners[k][i] * weights[k];
  }
}

class DeformConv2d : public Op {
 public:
  DeformConv2d(const CpuFeatures& cpu, const fbs::DeformConv2d& params, const Shape& weight)
      : params_(params),
        multiply_(widest_multiply(cpu)),
        groups_(static_cast<size_t>(params.groups())),
        blocks_(static_cast<size_t>(params.offset_groups())),
        outputs_(static_cast<size_t>(weight[0])),
        cells_(elements(weight, 1, 3)),
        kernel_width_(static_cast<size_t>(weight[2])),
        group_inputs_(static_cast<size_t>(weight[3])),
        channels_(group_inputs_ * groups_),
        cells_at_once_(std::clamp<size_t>(kDeformDepth / channels_, 1, cells_)) {
    ones_.fill(1.0f);
  }

  [[gnu::cold]] Status pack(WeightSource& source) {
    const size_t depth = cells_ * group_inputs_;
    const auto fill = [&](const float* weight, const float* bias, float* to) {
      for (size_t g = 0; g < groups_; ++g)
        for (size_t x = 0; x < group_outputs(); x += kPanel)
          for (size_t k = 0; k < depth; ++k)
            for (size_t i = x; i < std::min(x + kPanel, group_outputs()); ++i)
              *to++ = weight[(g * group_outputs() + i) * depth + k];
      std::copy_n(bias, outputs_, to);
    };
    const PackingId id = PackingId("deform_conv2d panels", 1).add(groups_).add(kPanel);
    return source.packed_values<float>(id, outputs_ * (depth + 1) * sizeof(float), fill, &packed_);
  }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool,
                               uint64_t* workspace) override {
    x_ = inputs[0];
    y_ = output;
    *workspace = uint64_t{sizeof(float)} * pool->threads() * scratch_size();
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = floats(inputs[0]);
    offsets_ = floats(inputs[3]);
    mask_ = inputs.size() > 4 ? floats(inputs[4]) : nullptr;
    output_ = floats(output);
    scratch_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    parallel(pool, Grid<1, 1>{{elements(y_, 0, 3)}, {kDeformRows}},
             [&](Pool::Share& share, size_t first, size_t count) {
               float* rows = scratch_ + share.thread() * scratch_size();
               const float* bias = reinterpret_cast<const float*>(packed_.get()) + outputs_ * cells_ * group_inputs_;
               for (size_t i = first; i < first + count; ++i) std::copy_n(bias, outputs_, output_ + i * outputs_);
               for (size_t cell = 0; cell < cells_; cell += cells_at_once_) {
                 const size_t cells = std::min(cells_at_once_, cells_ - cell);
                 for (size_t i = 0; i < count; ++i) sample(first + i, cell, cells, rows + i * cells * channels_);
                 multiply(rows, cell, cells, output_ + first * outputs_, count);
               }
             });
    return {};
  }

 private:
  size_t group_outputs() const { return outputs_ / groups_; }
  size_t scratch_size() const { return kDeformRows * cells_at_once_ * channels_; }

  // Samples `cells` of the kernel at an output pixel; the values of a group are contiguous.
  void sample(size_t place, size_t first, size_t cells, float* row) const {
    const auto width = static_cast<size_t>(y_[2]), height = static_cast<size_t>(y_[1]);
    const auto left = static_cast<int64_t>(place % width) * params_.stride_w() - params_.pad_left();
    const auto top = static_cast<int64_t>(place / width % height) * params_.stride_h() - params_.pad_top();
    const float* image = input_ + place / width / height * elements(x_, 1, 4);
    const auto columns = static_cast<size_t>(x_[2]);
    const size_t block = channels_ / blocks_;
    for (size_t b = 0; b < blocks_; ++b) {
      for (size_t k = 0; k < cells; ++k) {
        const size_t cell = first + k, index = (place * blocks_ + b) * cells_ + cell;
        const auto down = static_cast<int64_t>(cell / kernel_width_) * params_.dilation_h();
        const auto right = static_cast<int64_t>(cell % kernel_width_) * params_.dilation_w();
        Between y, x;
        const bool inside =
            find(offsets_[2 * index], top + down, x_[1], &y) && find(offsets_[2 * index + 1], left + right, x_[2], &x);
        const float factor = mask_ != nullptr ? mask_[index] : 1.0f;
        for (size_t c = b * block; c < (b + 1) * block;) {
          const size_t group = c / group_inputs_, end = std::min((group + 1) * group_inputs_, (b + 1) * block);
          float* to = row + (group * cells + k) * group_inputs_ + c % group_inputs_;
          if (inside) {
            std::array<const float*, 4> corners;
            std::array<float, 4> weights;
            for (size_t i = 0; i < 4; ++i) {
              corners[i] = image + (y.at[i / 2] * columns + x.at[i % 2]) * channels_ + c;
              weights[i] = factor * y.weights[i / 2] * x.weights[i % 2];
            }
            blend(corners, weights, end - c, to);
          } else {
            std::fill_n(to, end - c, 0.0f);
          }
          c = end;
        }
      }
    }
  }

  // Adds the products of `cells` kernel cells from `first` to `count` output pixels.
  void multiply(const float* sampled, size_t first, size_t cells, float* y, size_t count) const {
    const float* weight = reinterpret_cast<const float*>(packed_.get());
    const size_t depth = cells * group_inputs_;
    for (size_t g = 0; g < groups_; ++g) {
      const float* rows[kDeformRows];
      for (size_t i = 0; i < kDeformRows; ++i)  // repeats the last row
        rows[i] = sampled + std::min(i, count - 1) * cells * channels_ + g * depth;
      for (size_t x = 0; x < group_outputs(); x += kPanel) {
        const size_t width = std::min(kPanel, group_outputs() - x);
        multiply_({rows, weight + first * group_inputs_ * width, width, depth, ones_.data(), ones_.data(),
                   y + g * group_outputs() + x, outputs_, width, count});
        weight += cells_ * group_inputs_ * width;
      }
    }
  }

  const fbs::DeformConv2d& params_;
  const Multiply multiply_;
  const size_t groups_, blocks_, outputs_, cells_, kernel_width_, group_inputs_, channels_, cells_at_once_;
  std::array<float, kDeformRows> ones_;
  PackedBytes packed_;  // [group][panel][cell and input][output], then the bias
  Shape x_, y_;
  const float *input_ = nullptr, *offsets_ = nullptr, *mask_ = nullptr;
  float *output_ = nullptr, *scratch_ = nullptr;
};

}  // namespace

Status create_deform_conv2d(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op,
                            std::unique_ptr<Op>* out) {
  auto convolution =
      std::make_unique<DeformConv2d>(cpu, *op.params_as_DeformConv2d(), model.shape(op.inputs()->Get(1)));
  WeightSource source(model, op);
  FERRY_TRY(convolution->pack(source));
  *out = std::move(convolution);
  return {};
}

}  // namespace ferry::cpu
