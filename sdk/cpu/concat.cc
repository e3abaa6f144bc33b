#include <cstring>
#include <vector>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

// Each output row (all from the axis inwards) is the inputs' rows one after another.
class Concat : public Op {
 public:
  explicit Concat(int axis) : axis_(axis) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    rows_ = elements(output, 0, axis_);
    row_ = elements(output, axis_, output.rank);
    parts_.assign(inputs.size(), {});
    for (size_t i = 0; i < inputs.size(); ++i) parts_[i].row = elements(inputs[i], axis_, inputs[i].rank);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    for (size_t i = 0; i < inputs.size(); ++i) parts_[i].data = floats(inputs[i]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    if (rows_ == 1) {
      copy_long(pool);
      return {};
    }
    parallel_rows(pool, rows_, row_, [&](size_t begin, size_t end) {
      float* to = output_ + begin * row_;
      for (size_t i = begin; i < end; ++i) {
        for (const Part& part : parts_) {
          std::memcpy(to, part.data + i * part.row, part.row * sizeof(float));
          to += part.row;
        }
      }
    });
    return {};
  }

 private:
  struct Part {
    const float* data = nullptr;
    size_t row = 0;
  };

  void copy_long(pthreadpool_t pool) {
    float* to = output_;
    for (const Part& part : parts_) {
      parallel_for(pool, part.row, kGrain, [&](size_t begin, size_t end) {
        std::memcpy(to + begin, part.data + begin, (end - begin) * sizeof(float));
      });
      to += part.row;
    }
  }

  int axis_;
  size_t rows_ = 0, row_ = 0;
  std::vector<Part> parts_;
  float* output_ = nullptr;
};

}  // namespace

Status create_concat(const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Concat>(op.params_as_Concat()->axis());
  return {};
}

}  // namespace ferry::cpu
