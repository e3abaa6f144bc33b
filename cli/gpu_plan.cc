#include "cli/gpu_plan.h"

#include <cstdio>

#include "cli/print.h"
#include "cli/text.h"
#include "sdk/operators/shape_rules.h"
#if FERRY_GPU
#include "sdk/gpu/lowering/partition.h"
#endif

namespace ferry::cli {

#if FERRY_GPU

namespace {

GpuStep describe(const Model& model, const gpu::Program& program, const gpu::Step& step) {
  GpuStep out;
  out.last = static_cast<size_t>(step.operators.back());
  std::vector<std::string> ops, kernels;
  for (int index : step.operators) ops.push_back(op_name(gpu::operator_at(model, index).params_type()));
  for (const gpu::Dispatch& dispatch : step.dispatches) {
    kernels.push_back(gpu::kernel_name(dispatch.variant.kernel));
    out.bytes += dispatch.work.read + dispatch.work.written;
    out.operations += dispatch.work.flops;
  }
  out.op = join(ops, "+");
  out.kernels = join(kernels, "+");
  const flatbuffers::String* name = gpu::operator_at(model, step.operators.front()).name();
  out.module = name != nullptr ? name->str() : "";
  out.output = program.shapes[step.output];
  out.on_gpu = step.on_gpu;
  out.reason = step.reason;
  return out;
}

}  // namespace

GpuPlan gpu_plan(const Model& model, const ferry_session_options& options, Shapes shapes) {
  std::shared_ptr<gpu::Device> device;
  check(gpu::Device::open(options.gpu_device, options.gpu_cache_dir, options.gpu_retry, &device));
  if (shapes.size() == 0)
    for (const TensorId t : model.tensors()) shapes.push_back(model.shape(t));
  PerTensor<bool> kept(shapes.size(), false);
  for (const fbs::Port* port : *model.graph().outputs()) kept[port->tensor()] = true;
  const gpu::Storage storage =
      options.precision == FERRY_PRECISION_FLOAT16 ? gpu::Storage::Float16 : gpu::Storage::Float32;
  gpu::Program program;
  check(gpu::make_program(model, shapes, kept, *device, storage, &program));

  GpuPlan plan;
  for (const gpu::Step& step : program.steps) {
    plan.steps.push_back(describe(model, program, step));
    plan.dispatches += step.dispatches.size();
    plan.riders += step.operators.size() - 1;
  }
  const gpu::Traffic traffic = gpu::traffic(model, program);
  plan.bytes = traffic.moved;
  plan.minimum_bytes = traffic.minimum;
  plan.operations = traffic.flops;
  return plan;
}

#else

GpuPlan gpu_plan(const Model&, const ferry_session_options&, Shapes) {
  fail("this build has no GPU backend (FERRY_GPU=OFF)");
}

#endif

void print_traffic(const GpuPlan& plan) {
  print("%-18s %9s (%.2f times the minimum, %s)\n", "bytes moved", bytes_text(plan.bytes).c_str(), plan.ratio(),
        bytes_text(plan.minimum_bytes).c_str());
  print("%-18s %9s\n", "operations", scaled(static_cast<double>(plan.operations)).c_str());
}

}  // namespace ferry::cli
