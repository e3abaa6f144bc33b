// Stands for replays, the watch and audits in a library without them (the CMake option FERRY_GPU_CHECKS).
#include "sdk/gpu/audit/audit.h"
#include "sdk/gpu/backend/watch.h"
#include "sdk/gpu/canary/replay.h"
#include "sdk/gpu/canary/verdicts.h"
#include "sdk/graph/audit.h"

namespace ferry::gpu {

Status check_kernels(const Model&, const Program&, std::span<const BufferRange>, Device&, const KernelCheck&, Verdicts*,
                     KernelReport*) {
  return error(FERRY_UNSUPPORTED, "%s", kNoGpuChecks);
}

Status run_audit(const Model&, const Program&, std::span<const BufferRange>, Device&, const AuditRequest&,
                 AuditReport*) {
  return error(FERRY_UNSUPPORTED, "%s", kNoGpuChecks);
}

// No session has a watch, and no verdict is read or written.
Status Watch::choose(const Program&, Device&, size_t* step) {
  *step = SIZE_MAX;
  return {};
}
Status Watch::judge(const Program&) { return {}; }
void Verdicts::open(const std::string&, const PackedTarget&, Pipelines&) {}
void Verdicts::set_wrong(uint64_t, const Step&, const std::string&, Pipelines&) {}
void Verdicts::save() {}
uint64_t work_id(const Step&, const Shapes&) { return 0; }

}  // namespace ferry::gpu
