// Convolutions one after another that are computed together, a band of rows at a time: what one leaves for the next
// stays in the L2 cache and has no place in the arena. As a network's widest maps lie between an expansion, a depthwise
// convolution and a projection, this is most of what a small network would write to memory and read again.
#pragma once

#include <span>

#include "sdk/cpu/backend/op.h"
#include "sdk/cpu/backend/steps.h"

namespace ferry::cpu {

// A convolution of images [N,H,W,C], of floats or halves, that computes any rows, on any thread. What Op::reshape()
// and Op::setup() gave it holds, but for the addresses of its input and output.
class RowOp {
 public:
  struct Rows {
    const void* x;  // row `first` of the image; at least those that are read follow
    int64_t first;
    void* y;  // row `from` of the output, and those up to `to`
    int64_t from, to;
    size_t thread;
  };
  virtual void compute_rows(const Rows& rows) const = 0;

 protected:
  ~RowOp() = default;
};

// Puts operators together where that pays: of a chain's steps the last one is left, which does what all did. What lies
// between loses its memory (Steps::inner). `flags`: of each of the graph's operators; those put together have the same.
// `readers`: of each tensor, the app among them.
[[gnu::cold]] void form_bands(const CpuFeatures& cpu, const Model& model, std::span<const uint8_t> flags,
                              const PerTensor<int>& readers, Steps* steps);

}  // namespace ferry::cpu
