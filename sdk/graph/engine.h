// What computes a planned network for a session: the CPU (sdk/cpu/engine.h) or a GPU (sdk/gpu/engine.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "sdk/graph/shape.h"
#include "sdk/status.h"

namespace ferry {

// Where a run stands, as the thread that runs and the one that cancels see it.
enum class Progress { Idle, Running, Cancelled };

class Engine {
 public:
  virtual ~Engine() = default;

  // Plans for these shapes of every tensor of the model, operators' outputs included. May allocate. Graph inputs whose
  // shape is as before keep their contents, the others are zero. On failure everything stays as it was.
  virtual Status prepare(const std::vector<Shape>& shapes) = 0;

  // Computes outputs and kept taps from the inputs. Allocates nothing. FERRY_CANCELLED: *progress became Cancelled.
  virtual Status run(const std::atomic<Progress>& progress) = 0;

  // Host memory of a graph input, an output or a kept tap, float32, channels last, by its index in Model.tensors.
  virtual void* data(int tensor) const = 0;

  // Bytes of the planned arena.
  virtual uint64_t arena_bytes() const = 0;

  // Microseconds that each operator took in the last run; empty unless SessionOptions.profile.
  virtual std::span<const double> microseconds() const = 0;
};

}  // namespace ferry
