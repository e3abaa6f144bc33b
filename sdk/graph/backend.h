// What computes a planned network for a session: the CPU (sdk/cpu/backend/backend.h) or a GPU
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

namespace ferry::image {
struct Frame;
struct Conversion;
}  // namespace ferry::image

namespace ferry {

inline constexpr Status::Failure kCancelled = {FERRY_CANCELLED, "run cancelled"};
inline constexpr Status::Failure kNoDevice = {
    FERRY_GPU_UNAVAILABLE, "the session is on the CPU, which reads frames in the app's memory alone"};

// What a backend tells of itself: ferry_report in ferry.h.
struct BackendReport {
  ferry_backend backend = FERRY_BACKEND_CPU;
  ferry_precision precision = FERRY_PRECISION_FLOAT32;
  std::string device, driver;  // "" on the CPU
  size_t gpu_operators = 0, cpu_operators = 0;
  size_t transfers = 0;  // values that cross between the two sides in a run, inputs and outputs included
  size_t canary_count = 0, canary_failures = 0;
  double canary_ms = 0;
  std::vector<std::string> notes;  // a sentence each
};

// What the inputs hold that last (Port.lasting): as in the run before, or maybe something else.
enum class Static { Changed, Unchanged };

class Backend {
 public:
  virtual ~Backend() = default;

  // Plans for these shapes of every tensor of the model, operators' outputs included. May allocate. Graph inputs whose
  // shape is as before keep their contents, the others are zero. `bounds`: shapes that there shall be room for, too, so
  // that reshape() may follow; empty: none. On failure everything stays as it was.
  virtual Status prepare(const Shapes& shapes, const Shapes& bounds) = 0;
  // The same within the room that there is, at the same addresses: allocates nothing, but tables of convolutions, and
  // on a GPU what it records. Also where a state has another length than before, or other memory. *fits: there is room;
  // otherwise prepare() is what remains, for these shapes or again for the former ones.
  virtual Status reshape(const Shapes&, bool* fits) {
    *fits = false;
    return {};
  }

  // Computes outputs and kept taps from the inputs; what depends on static inputs alone it may leave as it was where
  // they are unchanged. Allocates nothing. FERRY_CANCELLED: `progress` became Cancelled.
  virtual Status run(const std::atomic<Progress>& progress, Static lasting) = 0;

  // The states hold now what the last run gave them.
  virtual void states_advanced() {}

  // Whether a run was begun without waiting for it, and the wait for its end: after it, results are there.
  virtual bool submitted() const { return false; }
  virtual Status finish() { return {}; }
  // Inputs or outputs lie in buffers where no other backend reaches them.
  virtual bool bound() const { return false; }

  // Memory for the backend's device to read. FERRY_GPU_UNAVAILABLE: it has none. FERRY_UNSUPPORTED: the device or its
  // driver does not import such memory.
  virtual Status import(const MemorySource&, std::shared_ptr<const DeviceMemory>*) { return Status(kNoDevice); }
  // Input `tensor` becomes what a frame in such memory gives, which is read before this returns, until another frame
  // does, leave_frame() or prepare().
  virtual Status take_frame(TensorId /*tensor*/, const image::Frame&, const image::Conversion&) {
    return Status(kNoDevice);
  }
  // Input `tensor` lies in host memory again.
  virtual Status leave_frame(TensorId /*tensor*/) { return {}; }

  // Host memory of a graph input, an output or a kept tap, float32, channels last; inputs in it outlive any failure
  // of run(). Constants give the blob's read-only bytes, other values null.
  virtual void* data(TensorId tensor) const = 0;

  // Bytes of the planned arena.
  virtual uint64_t arena_bytes() const = 0;
  // Bytes of weights in the backend's own layout, shared by the model's sessions.
  virtual uint64_t packed_bytes() const = 0;

  // Microseconds that each operator took in the last run; empty unless SessionOptions.profile.
  virtual std::span<const double> microseconds() const = 0;
  // "cpu" or "gpu": where operator `op` (in Graph.operators) runs.
  virtual const char* backend_of(size_t op) const = 0;

  // As of the last prepare(), which may change it.
  virtual const BackendReport& report() const = 0;
};

}  // namespace ferry
