// An op's output channels in panels, an XNNPACK operator each.
//
// XNNPACK walks all output channels for every few rows: weights that do not stay in a core's L2 cache stream again each
// time. Cut into panels, they are read from further away once. A thread takes whole panels, so that threads meet once a
// layer.
#pragma once

#include "sdk/threads/pool.h"

#include <vector>

#include "sdk/cpu/xnnpack/weights.h"

namespace ferry::cpu {

// Output channels of each panel but the last; all `outputs` where panels do not pay. rows: of the matrix product;
// channel_bytes: weights of an output channel.
size_t panel_width(size_t rows, size_t channel_bytes, size_t outputs);

class PanelOp : public Op {
 public:
  Status run(Pool* pool) override;

 protected:
  explicit PanelOp(fbs::OpParams type) : type_(type) {}
  Status check(xnn_status status, const char* doing) const { return cpu::check(status, type_, doing); }
  // Makes the next panel's operator; `create` as in create_packed().
  template <typename Create>
  Status add(XnnPacking packing, Create create) {
    packing.part = static_cast<uint32_t>(panels_.size());
    PackedXnn panel;
    FERRY_TRY(create_packed(packing, type_, create, &panel));
    panels_.push_back(std::move(panel));
    return {};
  }
  // The threads that work within a panel.
  Pool* within(Pool* pool) const { return panels_.size() == 1 ? pool : nullptr; }

  size_t width_ = 0;
  std::vector<PackedXnn> panels_;

 private:
  fbs::OpParams type_;
};

}  // namespace ferry::cpu
