#include <algorithm>
#include <array>

#include "sdk/cpu/exponential.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"
#include "sdk/threads/xnnpack.h"

namespace ferry::cpu {
namespace {

// Rows of at most this many elements are computed many at a time: to XNNPACK a row is a call.
constexpr size_t kShort = 16;

// Rows of `n` elements, one after the other.
FERRY_KERNEL void softmax_short(const float* x, float* y, size_t rows, size_t n) {
  std::array<float, 32 * kShort> e;
  for (size_t first = 0; first < rows; first += 32) {
    const size_t count = std::min<size_t>(32, rows - first), all = count * n;
    for (size_t r = 0; r < count; ++r) {
      const float* row = x + (first + r) * n;
      const float maximum = *std::max_element(row, row + n);
      for (size_t i = 0; i < n; ++i) e[r * n + i] = row[i] - maximum;
    }
    for (size_t i = 0; i < all; ++i) e[i] = softmax_exponential(e[i]);
    for (size_t r = 0; r < count; ++r) {
      float sum = 0;
      for (size_t i = 0; i < n; ++i) sum += e[r * n + i];
      for (size_t i = 0; i < n; ++i) y[(first + r) * n + i] = e[r * n + i] / sum;
    }
  }
}

class Softmax : public XnnOp {
 public:
  Softmax() : XnnOp(fbs::OpParams::Softmax) {}

  Status create() {
    xnn_operator_t created = nullptr;
    const xnn_status status = xnn_create_softmax_nc_f32(/*flags=*/0, &created);
    return own(status, created);
  }

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    length_ = static_cast<size_t>(x[x.rank - 1]);
    rows_ = elements(x, 0, x.rank - 1);
    if (length_ <= kShort) return {};
    return check(xnn_reshape_softmax_nc_f32(xnn_.get(), length_, length_, length_, rows_, as_xnnpack(pool)),
                 "reshaping");
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    x_ = floats(inputs[0]);
    y_ = floats(output);
    if (length_ <= kShort) return {};
    return check(xnn_setup_softmax_nc_f32(xnn_.get(), x_, y_), "setting up");
  }

  Status run(Pool* pool) override {
    if (length_ > kShort) return XnnOp::run(pool);
    parallel_rows(pool, rows_, length_, [this](size_t begin, size_t end) {
      softmax_short(x_ + begin * length_, y_ + begin * length_, end - begin, length_);
    });
    return {};
  }

 private:
  size_t length_ = 0, rows_ = 0;
  const float* x_ = nullptr;
  float* y_ = nullptr;
};

}  // namespace

Status create_softmax(const CpuFeatures&, const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  auto softmax = std::make_unique<Softmax>();
  FERRY_TRY(softmax->create());
  *out = std::move(softmax);
  return {};
}

}  // namespace ferry::cpu
