// window_partition and window_reverse: the same walk in opposite directions.
#include <algorithm>
#include <cstring>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/ops/move.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

template <typename Params>
class WindowCopy : public MoveOp {
 public:
  WindowCopy(const Params& params, bool reverse, size_t element_bytes)
      : MoveOp(element_bytes), params_(params), reverse_(reverse) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    image_ = Sizes(reverse_ ? output : inputs[0]);
    return {};
  }

  Status run(Pool* pool) override {
    const auto& d = image_.dims;
    const size_t batch = d[0], height = d[1], width = d[2], channels = d[3];
    const auto window_h = static_cast<size_t>(params_.window_h()), window_w = static_cast<size_t>(params_.window_w());
    const auto shift_h = static_cast<size_t>(params_.shift_h()), shift_w = static_cast<size_t>(params_.shift_w());
    const size_t across = width / window_w, bytes = channels * element_bytes_;  // of a pixel
    parallel_rows(pool, batch * height, width * channels, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {  // of the rolled image
        const size_t y = row % height, n = row / height;
        const size_t line = (n * height + (y + shift_h) % height) * width;
        const size_t windows = (n * height + y - y % window_h) / window_h * across;
        for (size_t x = 0, run; x < width; x += run) {  // pixels that are contiguous in both
          const size_t column = (x + shift_w) % width;
          run = std::min(window_w - x % window_w, width - column);
          const size_t pixel = (line + column) * bytes;
          const size_t place = (((windows + x / window_w) * window_h + y % window_h) * window_w + x % window_w) * bytes;
          std::memcpy(output_ + (reverse_ ? pixel : place), input_ + (reverse_ ? place : pixel), run * bytes);
        }
      }
    });
    return {};
  }

 private:
  const Params& params_;
  bool reverse_;
  Sizes image_{Shape()};
};

}  // namespace

Status create_window_partition(const CpuFeatures&, const Model& model, const fbs::Operator& op,
                               std::unique_ptr<Op>* out) {
  *out = std::make_unique<WindowCopy<fbs::WindowPartition>>(*op.params_as_WindowPartition(), false,
                                                            element_bytes(model, op));
  return {};
}

Status create_window_reverse(const CpuFeatures&, const Model& model, const fbs::Operator& op,
                             std::unique_ptr<Op>* out) {
  *out =
      std::make_unique<WindowCopy<fbs::WindowReverse>>(*op.params_as_WindowReverse(), true, element_bytes(model, op));
  return {};
}

Status create_float16_window_partition(const CpuFeatures&, const Model&, const fbs::Operator& op,
                                       std::unique_ptr<Op>* out) {
  *out = std::make_unique<WindowCopy<fbs::WindowPartition>>(*op.params_as_WindowPartition(), false, sizeof(Float16));
  return {};
}

Status create_float16_window_reverse(const CpuFeatures&, const Model&, const fbs::Operator& op,
                                     std::unique_ptr<Op>* out) {
  *out = std::make_unique<WindowCopy<fbs::WindowReverse>>(*op.params_as_WindowReverse(), true, sizeof(Float16));
  return {};
}

}  // namespace ferry::cpu
