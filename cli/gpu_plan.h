// The plan by which the GPU backend runs a blob.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/sdk.h"
#include "sdk/model/model.h"
#include "sdk/model/per_tensor.h"

namespace ferry::cli {

// A step: on the GPU an operator and those fused with it, on the CPU one operator.
struct GpuStep {
  size_t last = 0;  // index of its last operator in Graph.operators, which has the time
  std::string op;   // "conv2d", "conv2d+binary+unary"
  std::string module;
  Shape output;
  bool on_gpu = true;
  std::string reason;                  // why it is on the CPU
  std::string kernels;                 // "matmul"; "" for a view and on the CPU
  uint64_t bytes = 0, operations = 0;  // moved and computed by its dispatches; a multiply-add counts 2
};

struct GpuPlan {
  std::vector<GpuStep> steps;
  size_t dispatches = 0;
  size_t riders = 0;                   // operators fused into the kernel of another
  uint64_t bytes = 0, operations = 0;  // of all dispatches
  uint64_t minimum_bytes = 0;          // every activation written once and read once, weights read once

  double ratio() const {
    return minimum_bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(minimum_bytes) : 0;
  }
};

// The plan of a session with these options: same device, same tuned variants. `shapes`: of every tensor; empty: at the
// blob's input size. Throws Error.
GpuPlan gpu_plan(const Model& model, const ferry_session_options& options, Shapes shapes = {});

// Two lines: bytes that its dispatches move beside the minimum, and operations.
void print_traffic(const GpuPlan& plan);

}  // namespace ferry::cli
