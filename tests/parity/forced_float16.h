// float16 GEMM kernels, forced on a whole network; untuned sessions would choose others.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sdk/gpu/device/pipelines.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/model/model.h"

namespace ferry::parity {

inline bool multiplies_in_float16(const gpu::Step& step) {
  return step.dispatches.size() == 1 &&
         std::string(gpu::kernel_name(step.dispatches[0].variant.kernel)).ends_with("_float16");
}

// Tries every convolution and linear operator of the release blob `model` in float16, at its own shapes and with all
// taps. Each kernel that fits becomes the tuned choice once. Returns the variants.
inline std::set<gpu::Variant> force_float16s(const Model& model, gpu::Device& device) {
  const fbs::Graph& graph = model.graph();
  Shapes shapes;
  for (const TensorId tensor : model.tensors()) shapes.push_back(model.shape(tensor));
  PerTensor<bool> kept(shapes.size(), false);
  for (const fbs::Port* port : *graph.outputs()) kept[port->tensor()] = true;
  for (const fbs::Port* port : *graph.taps()) kept[port->tensor()] = true;
  std::set<gpu::Variant> forced;
  size_t turn = 0;
  for (const gpu::Chain& chain : gpu::make_chains(model, shapes, kept)) {
    const std::string signature = gpu::signature(model, chain, shapes, gpu::Storage::Float16);
    if (device.pipelines().tuned(signature) >= 0) continue;  // same shape as an earlier one
    const gpu::Problem problem = gpu::problem_of(model, chain, shapes, gpu::Storage::Float16, device.limits());
    std::vector<std::pair<int, gpu::Variant>> fitting;
    for (int i = 0; i < gpu::alternatives(problem.op.params_type()); ++i) {
      gpu::Program program{.storage = gpu::Storage::Float16, .shapes = shapes};
      gpu::Step step;
      if (gpu::lower_by(problem, i, &program, &step).ok() && multiplies_in_float16(step))
        fitting.emplace_back(i, step.dispatches[0].variant);
    }
    if (fitting.empty()) continue;
    const auto& [alternative, variant] = fitting[turn++ % fitting.size()];
    device.pipelines().set_tuned(signature, alternative);
    forced.insert(variant);
  }
  return forced;
}

}  // namespace ferry::parity
