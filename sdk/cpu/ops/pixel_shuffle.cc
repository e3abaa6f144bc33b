#include <cstring>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/ops/move.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

class PixelShuffle : public MoveOp {
 public:
  PixelShuffle(int factor, size_t element_bytes) : MoveOp(element_bytes), factor_(static_cast<size_t>(factor)) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    rows_ = elements(x, 0, 2);
    width_ = static_cast<size_t>(x[2]);
    pixel_ = static_cast<size_t>(x[3]) * element_bytes_;
    return {};
  }

  Status run(Pool* pool) override {
    // A pixel's channels hold its output cell row by row: `factor` runs, each copied to another output row.
    const size_t run = pixel_ / factor_;
    parallel_rows(pool, rows_, width_ * pixel_ / element_bytes_, [&](size_t begin, size_t end) {
      for (size_t y = begin; y < end; ++y) {
        std::byte* to = output_ + y * width_ * pixel_;
        for (size_t i = 0; i < factor_; ++i) {
          const std::byte* from = input_ + y * width_ * pixel_ + i * run;
          for (size_t x = 0; x < width_; ++x) {
            std::memcpy(to, from, run);
            to += run;
            from += pixel_;
          }
        }
      }
    });
    return {};
  }

 private:
  size_t factor_;
  size_t rows_ = 0, width_ = 0;
  size_t pixel_ = 0;  // bytes
};

}  // namespace

Status create_pixel_shuffle(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<PixelShuffle>(op.params_as_PixelShuffle()->factor(), element_bytes(model, op));
  return {};
}

Status create_float16_pixel_shuffle(const CpuFeatures&, const Model&, const fbs::Operator& op,
                                    std::unique_ptr<Op>* out) {
  *out = std::make_unique<PixelShuffle>(op.params_as_PixelShuffle()->factor(), sizeof(Float16));
  return {};
}

}  // namespace ferry::cpu
