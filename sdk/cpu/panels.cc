#include "sdk/cpu/panels.h"

#include <algorithm>

namespace ferry::cpu {
namespace {

constexpr size_t kPanelBytes = 256 << 10;
constexpr size_t kFewRows = 32;    // below, there is little to reuse
constexpr size_t kNarrowest = 64;  // channels of a panel
constexpr size_t kTile = 32;       // channels that microkernels compute together, at most

}  // namespace

size_t panel_width(size_t rows, size_t channel_bytes, size_t outputs) {
  if (rows < kFewRows || outputs * channel_bytes <= 2 * kPanelBytes) return outputs;
  const size_t fitting = std::max(kPanelBytes / channel_bytes, kNarrowest);
  const size_t panels = (outputs + fitting - 1) / fitting;
  return ((outputs + panels - 1) / panels + kTile - 1) / kTile * kTile;
}

Status PanelOp::add(xnn_status status, xnn_operator_t op) {
  if (status == xnn_status_success) panels_.emplace_back(op);
  return check(status, "creating");
}

Status PanelOp::run(pthreadpool_t pool) {
  if (panels_.size() == 1) return check(xnn_run_operator(panels_[0].get(), pool), "running");
  status_ = xnn_status_success;
  const auto run_panel = [](void* self, size_t index) {
    PanelOp& op = *static_cast<PanelOp*>(self);
    const xnn_status status = xnn_run_operator(op.panels_[index].get(), nullptr);
    if (status != xnn_status_success) op.status_ = status;
  };
  pthreadpool_parallelize_1d(pool, run_panel, this, panels_.size(), PTHREADPOOL_FLAG_DISABLE_DENORMALS);
  return check(status_, "running");
}

}  // namespace ferry::cpu
