// Replays a program's kernels under load for some time.
#pragma once

#include <span>

#include "sdk/gpu/device/commands.h"
#include "sdk/gpu/device/device.h"
#include "sdk/gpu/lowering/program.h"
#include "sdk/graph/audit.h"
#include "sdk/model/model.h"

namespace ferry::gpu {

// Replays all different kernels in turn, back to back, so that the device heats up; between some rounds it rests, so
// that its clocks fall and rise again. A lost device ends the audit: out->lost says so. Each kernel runs at least once,
// however little time there is. FERRY_OUT_OF_MEMORY.
Status run_audit(const Model& model, const Program& program, std::span<const BufferRange> weights, Device& device,
                 const AuditRequest& request, AuditReport* out);

}  // namespace ferry::gpu
