// Convolutions one after another that are computed together, a band of rows at a time: what one leaves for the next stays
// in the L2 cache and has no place in the arena. As a network's widest maps lie between an expansion, a depthwise
// convolution and a projection, this is most of what a small network would write to memory and read again.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sdk/cpu/op.h"
#include "sdk/cpu/steps.h"

namespace ferry::cpu {

// Which rows of the input an output row reads: `size` of them, the first of output row y at y * stride - pad.
struct RowWindow {
  int64_t size = 1, stride = 1, pad = 0;
};

// An operator on pictures [N,H,W,C] that computes any rows, on any thread. What Op::reshape() and Op::setup() gave it
// holds, but for the addresses of its input and output.
class RowOp {
 public:
  struct Rows {
    const float* x;  // row `first` of the picture; at least those that are read follow
    int64_t first;
    float* y;  // row `from` of the output, and those up to `to`
    int64_t from, to;
    size_t thread;
  };
  virtual RowWindow window() const = 0;
  virtual void compute_rows(const Rows& rows) const = 0;

 protected:
  ~RowOp() = default;
};

// Puts operators together where that pays: of the steps of a chain one is left, which takes the first one's input and
// gives the last one's output. `flags`: of each graph operator; those put together have the same. `kept`: values that
// are read after a run. What lies between loses its memory (Steps::inner).
[[gnu::cold]] void form_bands(const CpuFeatures& cpu, const Model& model, std::span<const uint8_t> flags,
                              std::span<const TensorId> kept, Steps* steps, std::vector<std::unique_ptr<Op>>* ops,
                              std::vector<uint8_t>* views);

}  // namespace ferry::cpu
