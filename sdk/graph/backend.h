// A backend computes a planned network for a session: on the CPU (sdk/cpu/backend/backend.h) or a GPU
// (sdk/gpu/backend/backend.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sdk/graph/device_memory.h"
#include "sdk/model/per_tensor.h"
#include "sdk/operators/shape.h"
#include "sdk/status.h"
#include "sdk/threads/pool.h"

namespace ferry::gpu {
class Verdicts;  // sdk/gpu/canary/verdicts.h
}
namespace ferry::image {
struct Frame;
struct Conversion;
}  // namespace ferry::image

namespace ferry {

inline constexpr Status::Failure kCancelled = {FERRY_CANCELLED, "run cancelled"};
inline constexpr Status::Failure kNoDevice = {
    FERRY_GPU_UNAVAILABLE, "the session is on the CPU, which reads frames in the app's memory alone"};

inline constexpr Status::Failure kNoGpu = {FERRY_GPU_UNAVAILABLE, "the session is on the CPU: it has no GPU kernels"};

// The backend's part of ferry_report (ferry.h).
struct BackendReport {
  ferry_backend backend = FERRY_BACKEND_CPU;
  ferry_precision precision = FERRY_PRECISION_FLOAT32;
  std::string device, driver;  // "" on the CPU
  size_t gpu_operators = 0, cpu_operators = 0;
  size_t transfers = 0;  // values copied between CPU and GPU in a run, including inputs and outputs
  size_t canary_count = 0, canary_failures = 0;
  size_t watched_runs = 0;
  double canary_ms = 0;
  std::vector<std::string> notes;  // one sentence each
};

// A request to replay a GPU's kernels at the model's own shapes, and what came of it (ferry_session_check_kernels()).
struct KernelCheck {
  double seconds = 0;                 // stop after so many; 0: when all have a verdict
  uint64_t replays = 128;             // of each kernel
  gpu::Verdicts* verdicts = nullptr;  // to read and add to; null: the backend's own
};
struct KernelReport {
  size_t kernels = 0;   // different kernels and sizes that the session uses
  size_t checked = 0;   // with a verdict
  size_t failures = 0;  // found wrong by this call
  uint64_t replays = 0;
};
struct AuditRequest;  // sdk/graph/audit.h
struct AuditReport;

// Whether static inputs (Port.static_input) may have changed since the last run.
enum class StaticInputs { Changed, Unchanged };

class Backend {
 public:
  virtual ~Backend() = default;

  // Plans for the shapes of all tensors of the model. May allocate. Graph inputs whose shape did not change keep their
  // contents; others become zero. `bounds`: maximum shapes to allocate for, so that reshape() can follow; may be empty.
  // On failure nothing changes.
  virtual Status prepare(const Shapes& shapes, const Shapes& bounds) = 0;
  // Changes shapes within the allocated memory, at the same addresses. Allocates only tables of convolutions, and on a
  // GPU what it records. Also used when a state's length or memory changed. *fits false: call prepare() with these
  // shapes, or again with the former ones.
  virtual Status reshape(const Shapes&, bool* fits) {
    *fits = false;
    return {};
  }

  // Computes outputs and kept taps from the inputs. May reuse results that depend only on unchanged static inputs.
  // Allocates nothing. FERRY_CANCELLED: `progress` became Cancelled.
  virtual Status run(const std::atomic<Progress>& progress, StaticInputs static_inputs) = 0;

  // Called when the states were updated with the results of the last run.
  virtual void states_advanced() {}

  // Whether an asynchronous run is in progress, and a call that waits for its results.
  virtual bool submitted() const { return false; }
  virtual Status finish() { return {}; }
  // Whether inputs or outputs are bound to buffers that other backends cannot access.
  virtual bool bound() const { return false; }

  // Imports memory for the backend's device. FERRY_GPU_UNAVAILABLE: there is no device. FERRY_UNSUPPORTED: the device
  // or its driver cannot import such memory.
  virtual Status import(const MemorySource&, std::shared_ptr<const DeviceMemory>*) { return Status(kNoDevice); }
  // Converts a frame in imported memory to input `tensor`. The frame is read before this returns. The input stays on
  // the device until the next frame, leave_frame() or prepare().
  virtual Status take_frame(TensorId /*tensor*/, const image::Frame&, const image::Conversion&) {
    return Status(kNoDevice);
  }
  // Returns input `tensor` to host memory.
  virtual Status leave_frame(TensorId /*tensor*/) { return {}; }

  // Replays kernels that have no verdict yet. Failures: prepare() replaces those kernels.
  virtual Status check_kernels(const KernelCheck&, KernelReport*) { return Status(kNoGpu); }
  // Replays all kernels for some time, and reports how often each differed.
  virtual Status audit(const AuditRequest&, AuditReport*) { return Status(kNoGpu); }

  // Host memory of a graph input, an output or a kept tap: float32, channels last. Inputs keep their contents if run()
  // fails. Constants: the blob's read-only bytes. Other values: null.
  virtual void* data(TensorId tensor) const = 0;

  // Bytes of the planned arena.
  virtual uint64_t arena_bytes() const = 0;
  // Bytes of weights in the backend's own layout, shared by the model's sessions.
  virtual uint64_t packed_bytes() const = 0;

  // Microseconds of each operator in the last run; empty unless SessionOptions.profile.
  virtual std::span<const double> microseconds() const = 0;
  // "cpu" or "gpu": the backend of operator `op` (index in Graph.operators).
  virtual const char* backend_of(size_t op) const = 0;

  // Valid until the next prepare(), which may change it.
  virtual const BackendReport& report() const = 0;
};

}  // namespace ferry
