// Operators over windows of an image: pooling, means and resizing to the nearest.
#include <algorithm>
#include <cstring>
#include <vector>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/int8/int8.h"
#include "sdk/cpu/ops/rows.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

// Channels whose sums are kept at once.
constexpr size_t kChannels = 256;

struct Means {
  Int8Scale from;
  Int8Output to;
  float multiplier;

  Means(const Model& model, const fbs::Operator& op) : from(int8_scale(model, op.inputs()->Get(0))) {
    const Int8Scale output = int8_scale(model, output_of(op));
    to.zero_point = output.zero_point;
    multiplier = from.scale / output.scale;
  }
};

// What an operator over windows of an image reads and writes.
class Int8Window : public Op {
 public:
  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    x_ = inputs[0];
    y_ = output;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = integers(inputs[0]);
    output_ = integers(output);
    return {};
  }

 protected:
  Shape x_, y_;
  const int8_t* input_ = nullptr;
  int8_t* output_ = nullptr;
};

class Int8Pool2d : public Int8Window {
 public:
  Int8Pool2d(const Model& model, const fbs::Operator& op) : params_(*op.params_as_Pool2d()), means_(model, op) {}

  Status run(Pool* pool) override {
    const size_t pixels = elements(y_, 0, 3);
    const size_t window = static_cast<size_t>(params_.kernel_h()) * static_cast<size_t>(params_.kernel_w());
    parallel_rows(pool, pixels, static_cast<size_t>(y_[3]) * window, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) pixel(i);
    });
    return {};
  }

 private:
  void pixel(size_t index) const {
    const auto width = static_cast<size_t>(y_[2]), rows = static_cast<size_t>(y_[1]);
    const auto channels = static_cast<size_t>(x_[3]);
    const int64_t top = static_cast<int64_t>(index / width % rows) * params_.stride_h() - params_.pad_top();
    const int64_t left = static_cast<int64_t>(index % width) * params_.stride_w() - params_.pad_left();
    const int64_t bottom = std::min<int64_t>(top + params_.kernel_h(), x_[1] + params_.pad_bottom());
    const int64_t right = std::min<int64_t>(left + params_.kernel_w(), x_[2] + params_.pad_right());
    const int64_t first_row = std::max<int64_t>(top, 0), end_row = std::min<int64_t>(bottom, x_[1]);
    const int64_t first_column = std::max<int64_t>(left, 0), end_column = std::min<int64_t>(right, x_[2]);
    const int8_t* const image = input_ + index / (width * rows) * elements(x_, 1, 4);
    const auto each = [&](const auto& visit) {
      for (int64_t row = first_row; row < end_row; ++row)
        for (int64_t column = first_column; column < end_column; ++column)
          visit(image + static_cast<size_t>(row * x_[2] + column) * channels);
    };
    int8_t* const to = output_ + index * channels;
    if (params_.kind() == fbs::PoolKind::Max) {
      std::memset(to, -128, channels);
      each([&](const int8_t* from) { maximum(from, to, channels); });
      return;
    }
    const int64_t inside = std::max<int64_t>(end_row - first_row, 0) * std::max<int64_t>(end_column - first_column, 0);
    const int64_t count = params_.count_include_pad() ? (bottom - top) * (right - left) : inside;
    for (size_t c = 0; c < channels; c += kChannels) {
      const size_t some = std::min(kChannels, channels - c);
      int32_t sums[kChannels] = {};
      each([&](const int8_t* from) { add_to_sums(from + c, means_.from.zero_point, sums, some); });
      quantize_sums(sums, means_.multiplier / static_cast<float>(count), means_.to, to + c, some);
    }
  }

  const fbs::Pool2d& params_;
  const Means means_;
};

// Means over any axes: a row of the innermost kept dimensions is the sum of rows of the input.
class Int8Mean : public Int8Window {
 public:
  Int8Mean(const Model& model, const fbs::Operator& op) : axes_(*op.params_as_Reduce()->axes()), means_(model, op) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    const auto reduced = [&](int i) { return std::find(axes_.begin(), axes_.end(), i) != axes_.end(); };
    int inner = x.rank;
    while (inner > 0 && !reduced(inner - 1)) --inner;
    row_ = elements(x, inner, x.rank);
    kept_ = summed_ = Rows();
    for (int i = 0; i < inner; ++i)
      (reduced(i) ? summed_ : kept_).append(static_cast<size_t>(x[i]), elements(x, i + 1, x.rank));
    return {};
  }

  Status run(Pool* pool) override {
    const size_t pieces = (row_ + kChannels - 1) / kChannels, count = summed_.count();
    const float multiplier = means_.multiplier / static_cast<float>(count);
    parallel_rows(pool, kept_.count() * pieces, std::min(row_, kChannels) * count, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t row = i / pieces, first = i % pieces * kChannels, some = std::min(kChannels, row_ - first);
        const int8_t* const from = input_ + kept_.offset(row) + first;
        int32_t sums[kChannels] = {};
        for (size_t j = 0; j < count; ++j) add_to_sums(from + summed_.offset(j), means_.from.zero_point, sums, some);
        quantize_sums(sums, multiplier, means_.to, output_ + row * row_ + first, some);
      }
    });
    return {};
  }

 private:
  const flatbuffers::Vector<int32_t>& axes_;
  const Means means_;
  Rows kept_, summed_;
  size_t row_ = 1;
};

class Int8Nearest : public Int8Window {
 public:
  Status run(Pool* pool) override {
    const auto channels = static_cast<size_t>(x_[3]);
    parallel_rows(pool, elements(y_, 0, 2), elements(y_, 2, 4), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const auto height = static_cast<size_t>(y_[1]), width = static_cast<size_t>(y_[2]);
        const size_t row = i / height * static_cast<size_t>(x_[1]) + i % height * static_cast<size_t>(x_[1]) / height;
        const int8_t* const from = input_ + row * elements(x_, 2, 4);
        for (size_t j = 0; j < width; ++j)
          copy_row(output_ + (i * width + j) * channels, from + j * static_cast<size_t>(x_[2]) / width * channels,
                   channels);
      }
    });
    return {};
  }
};

}  // namespace

Status create_int8_pool2d(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  FERRY_TRY(check_multiplier(op, Means(model, op).multiplier));
  *out = std::make_unique<Int8Pool2d>(model, op);
  return {};
}

Status create_int8_reduce(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  FERRY_TRY(check_multiplier(op, Means(model, op).multiplier));
  *out = std::make_unique<Int8Mean>(model, op);
  return {};
}

Status create_int8_resize2d(const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Int8Nearest>();
  return {};
}

}  // namespace ferry::cpu
