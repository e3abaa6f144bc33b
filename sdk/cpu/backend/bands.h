// Fuses chains of convolutions: a band of output rows passes through the whole chain at a time. Intermediate maps stay
// in the L2 cache and take no space in the arena. The widest maps of a small network lie between an expansion, a
// depthwise convolution and a projection, so this removes most of its memory traffic.
#pragma once

#include <span>

#include "sdk/cpu/backend/op.h"
#include "sdk/cpu/backend/steps.h"

namespace ferry::cpu {

// A convolution of images [N,H,W,C] in float32 or float16 that computes any range of output rows on any thread. The
// state set by Op::reshape() and Op::setup() applies, except for the input and output addresses.
class RowOp {
 public:
  struct Rows {
    const void* x;  // row `first` of the image; must hold the rows that the kernel reads
    int64_t first;
    void* y;  // row `from` of the output; rows up to `to` are written
    int64_t from, to;
    size_t thread;
  };
  virtual void compute_rows(const Rows& rows) const = 0;

 protected:
  ~RowOp() = default;
};

// Fuses chains of steps where that is faster. Only the last step of a chain remains and computes the whole chain; the
// values between lose their memory (Steps::inner). `flags`: the schedule's flags of each graph operator; a chain has
// equal flags. `readers`: the number of readers of each tensor, the application included.
[[gnu::cold]] void form_bands(const CpuFeatures& cpu, const Model& model, std::span<const uint8_t> flags,
                              const PerTensor<int>& readers, Steps* steps);

}  // namespace ferry::cpu
