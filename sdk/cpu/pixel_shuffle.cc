#include <cstring>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

class PixelShuffle : public Op {
 public:
  explicit PixelShuffle(int factor) : factor_(static_cast<size_t>(factor)) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    rows_ = elements(x, 0, 2);
    width_ = static_cast<size_t>(x[2]);
    channels_ = static_cast<size_t>(x[3]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    // A pixel's channels hold its cell row by row: factor runs, each of which goes to another output row.
    const size_t run = channels_ / factor_;
    parallel_rows(pool, rows_, width_ * channels_, [&](size_t begin, size_t end) {
      for (size_t y = begin; y < end; ++y) {
        float* to = output_ + y * width_ * channels_;
        for (size_t i = 0; i < factor_; ++i) {
          const float* from = input_ + y * width_ * channels_ + i * run;
          for (size_t x = 0; x < width_; ++x) {
            std::memcpy(to, from, run * sizeof(float));
            to += run;
            from += channels_;
          }
        }
      }
    });
    return {};
  }

 private:
  size_t factor_;
  size_t rows_ = 0, width_ = 0, channels_ = 0;
  const float* input_ = nullptr;
  float* output_ = nullptr;
};

}  // namespace

Status create_pixel_shuffle(const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<PixelShuffle>(op.params_as_PixelShuffle()->factor());
  return {};
}

}  // namespace ferry::cpu
