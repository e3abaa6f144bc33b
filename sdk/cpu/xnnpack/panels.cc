#include "sdk/cpu/xnnpack/panels.h"
#include "sdk/threads/xnnpack.h"

#include <algorithm>
#include <atomic>

#include "sdk/cpu/backend/parallel.h"

namespace ferry::cpu {
namespace {

constexpr size_t kPanelBytes = 256 << 10;
constexpr size_t kMinReuse = 32;  // rows; with fewer, weights are hardly reused
constexpr size_t kMinWidth = 64;  // minimum channels of a panel
constexpr size_t kTile = 32;      // maximum channels that microkernels compute together

}  // namespace

size_t panel_width(size_t rows, size_t channel_bytes, size_t outputs) {
  if (rows < kMinReuse || outputs * channel_bytes <= 2 * kPanelBytes) return outputs;
  const size_t fitting = std::max(kPanelBytes / channel_bytes, kMinWidth);
  const size_t panels = (outputs + fitting - 1) / fitting;
  return ((outputs + panels - 1) / panels + kTile - 1) / kTile * kTile;
}

Status PanelOp::run(Pool* pool) {
  if (panels_.size() == 1) return check(xnn_run_operator(panels_[0].get(), as_xnnpack(pool)), "running");
  std::atomic<xnn_status> status = xnn_status_success;
  parallel_for(pool, panels_.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const xnn_status here = xnn_run_operator(panels_[i].get(), nullptr);
      if (here != xnn_status_success) status = here;
    }
  });
  return check(status, "running");
}

}  // namespace ferry::cpu
