// What `ferry inspect` prints, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/gpu_plan.h"
#include "cli/sdk.h"
#include "cli/summary.h"
#include "text_generated.h"

namespace ferry::cli {

struct InspectOptions {
  std::string model, graph, drawing;  // drawing: the file of a drawing
  BackendOptions backend;
  std::vector<std::string> shapes, graph_or_drawing;
  std::string network;
  bool json = false, ops = false, times = false;
};

// The memory plan at the default input size, or the reason why there is none.
struct InspectPlan {
  uint64_t arena = 0, packed = 0;
  std::string problem;
  // With --backend gpu.
  std::string device, driver;
  size_t transfers = 0, gpu_operators = 0, cpu_operators = 0;
  GpuPlan gpu;
};

void print_text(const InspectOptions& o, const Summary& s, const ModelHandle& model, const InspectPlan& plan);
void print_json(const InspectOptions& o, const Summary& s, const ModelHandle& model, const InspectPlan& plan);

// ---- for both -------------------------------------------------------------------------------------------------------

using GetPort = ferry_status (*)(const ferry_model*, size_t, ferry_tensor*);
// The model's inputs, outputs or taps.
std::vector<ferry_tensor> ports_of(const ModelHandle& model, size_t count, GetPort get);
std::vector<std::string> graph_names(const Model& model);
// Null if the blob has none. Throws Error if its text part is damaged.
const fbs::Tokenizer* tokenizer_of(const Model& model);

}  // namespace ferry::cli
