// ferry_session_options, checked.
#pragma once

#include <ferry/ferry.h>
#include <pthreadpool.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "sdk/threads/cores.h"

namespace ferry {

class MemoryBudget;  // sdk/model/memory_budget.h
class States;        // sdk/graph/states.h

struct SessionOptions {
  int num_threads = 0;                          // including the caller; 0: one a chosen core
  ferry_cores cores = FERRY_CORES_PERFORMANCE;  // where the session's threads run
  std::optional<CpuSet> cpus;                   // there instead
  pthreadpool_t pool = nullptr;                 // the caller's, which outlives the session; nullptr: the session's own
  std::span<const char* const> taps;            // names of the taps to keep
  bool all_taps = false;
  bool profile = false;
  uint64_t memory_limit = 0;       // bytes at most, as MemoryBudget counts them; 0: the default
  MemoryBudget* budget = nullptr;  // the session's, for its backends; null: no limit

  const char* graph = nullptr;     // of the model's blob, by name; null: the model's
  std::shared_ptr<States> states;  // of the same blob; null: the session's own

  ferry_backend backend = FERRY_BACKEND_CPU;
  ferry_precision precision = FERRY_PRECISION_FLOAT32;
  bool gpu_required = false;            // no GPU: no session
  bool gpu_retry = false;               // open a device again that was lost in this process
  bool gpu_tune = false;                // measure alternatives and remember the fastest
  const char* gpu_device = nullptr;     // index, part of a name; null or "best": the best
  ferry_gpu* gpu = nullptr;             // the caller's, read at creation only; null: gpu_device
  const char* gpu_cache_dir = nullptr;  // what is kept between runs of the app; null or "": nothing
  const char* cache_dir = nullptr;      // packed weights, kept between runs of the app; null or "": nothing
};

}  // namespace ferry
