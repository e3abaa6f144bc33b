// Splits an operator's output channels into panels (NC blocks), one XNNPACK operator each.
//
// XNNPACK loops over all output channels for every few rows, so weights that exceed a core's L2 cache are streamed
// again each time. With panels, they are read once. A thread computes whole panels, so threads synchronize once per
// layer.
#pragma once

#include "sdk/threads/pool.h"

#include <vector>

#include "sdk/cpu/xnnpack/weights.h"

namespace ferry::cpu {

// Output channels of each panel but the last; `outputs` if panels are not faster. rows: of the matrix product;
// channel_bytes: bytes of the weights of one output channel.
size_t panel_width(size_t rows, size_t channel_bytes, size_t outputs);

class PanelOp : public Op {
 public:
  Status run(Pool* pool) override;

 protected:
  explicit PanelOp(fbs::OpParams type) : type_(type) {}
  Status check(xnn_status status, const char* doing) const { return cpu::check(status, type_, doing); }
  // Creates the next panel's operator; `create` as in create_packed().
  template <typename Create>
  Status add(XnnPacking packing, Create create) {
    packing.part = static_cast<uint32_t>(panels_.size());
    PackedXnn panel;
    FERRY_TRY(create_packed(packing, type_, create, &panel));
    panels_.push_back(std::move(panel));
    return {};
  }
  // The pool for use within a panel.
  Pool* within(Pool* pool) const { return panels_.size() == 1 ? pool : nullptr; }

  size_t width_ = 0;
  std::vector<PackedXnn> panels_;

 private:
  fbs::OpParams type_;
};

}  // namespace ferry::cpu
