// ferry_session_options, checked.
#pragma once

#include <ferry/ferry.h>
#include <pthreadpool.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "ferry_generated.h"
#include "sdk/threads/cores.h"

namespace ferry {

class MemoryBudget;  // sdk/model/memory_budget.h
class States;        // sdk/graph/states.h

struct SessionOptions {
  int num_threads = 0;                          // including the caller; 0: one per selected core
  ferry_cores cores = FERRY_CORES_PERFORMANCE;  // cores of the session's threads
  std::optional<CpuSet> cpus;                   // CPUs to use instead of `cores`
  pthreadpool_t pool = nullptr;                 // the caller's, which must outlive the session; null: the session's own
  std::span<const char* const> taps;            // names of the taps to keep
  bool all_taps = false;
  bool profile = false;
  uint64_t memory_limit = 0;       // maximum bytes, as counted by MemoryBudget; 0: the default
  MemoryBudget* budget = nullptr;  // of the session, for its backends; null: no limit

  const char* graph = nullptr;                   // name of a graph in the model's blob; null: the model's
  std::shared_ptr<States> states;                // states of the same blob; null: the session's own
  fbs::DType state_dtype = fbs::DType::Float32;  // the widest type of keys and values in the session's own states

  ferry_backend backend = FERRY_BACKEND_CPU;
  ferry_precision precision = FERRY_PRECISION_FLOAT32;
  bool gpu_required = false;            // fail without a GPU
  bool gpu_retry = false;               // reopen a device that was lost in this process
  bool gpu_tune = false;                // measure alternatives and store the fastest
  double gpu_watch = 0;                 // share of the time of runs for comparing operators with the CPU; 0: none
  const char* gpu_device = nullptr;     // index, or part of a name; null or "best": the best
  ferry_gpu* gpu = nullptr;             // the caller's, read at creation only; null: use gpu_device
  const char* gpu_cache_dir = nullptr;  // folder for pipelines and canary results; null or "": none
  const char* cache_dir = nullptr;      // folder for packed weights; null or "": none
  bool skip_weight_check = false;       // do not compare the weights with their checksums
};

}  // namespace ferry
