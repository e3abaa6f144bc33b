#include "tests/support/run_blob.h"

#include <algorithm>
#include <ferry/ferry.hpp>

namespace ferry::testing {
namespace {

std::string write(const Tensor& tensor, const std::vector<double>& values) {
  if (tensor.dtype == FERRY_INT32) {
    const Status set = tensor.write_source_int32(std::vector<int32_t>(values.begin(), values.end()));
    return set ? "" : set.error();
  }
  const Status set = tensor.write_source(std::vector<float>(values.begin(), values.end()));
  return set ? "" : set.error();
}

std::string read(const Tensor& tensor, std::vector<double>* values) {
  values->clear();
  if (std::count(tensor.shape, tensor.shape + tensor.rank, 0) > 0) return "";  // a count was 0
  if (tensor.dtype == FERRY_INT32) {
    Result<std::vector<int32_t>> ints = tensor.read_source_int32();
    if (!ints) return ints.error();
    values->assign(ints->begin(), ints->end());
    return "";
  }
  Result<std::vector<float>> floats = tensor.read_source();
  if (!floats) return floats.error();
  values->assign(floats->begin(), floats->end());
  return "";
}

std::vector<int64_t> source_dims(const Tensor& t) {
  std::vector<int64_t> dims(t.shape, t.shape + t.rank);
  if (t.source_layout == FERRY_LAYOUT_NCHW) dims = {dims[0], dims[3], dims[1], dims[2]};
  return dims;
}

void set_source_dims(std::vector<int64_t> dims, Tensor* t) {
  if (t->source_layout == FERRY_LAYOUT_NCHW) dims = {dims[0], dims[2], dims[3], dims[1]};
  std::copy(dims.begin(), dims.end(), t->shape);
}

}  // namespace

std::string run_blob(const std::byte* blob, size_t size, const BlobTensors& inputs, BlobTensors* outputs,
                     const std::string& gpu) {
  Result<Model> model = Model::open_memory(blob, size);
  if (!model) return model.error();
  SessionOptions options;
  if (!gpu.empty()) {
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_device = gpu.c_str();
    options.gpu_required = true;
  }
  Result<Session> session = model->session(options);
  if (!session) return session.error();
  std::vector<Tensor> sizes = model->inputs();
  for (Tensor& input : sizes) set_source_dims(inputs.at(input.name).dims, &input);
  if (const Status resized = session->resize(sizes); !resized) return resized.error();
  for (size_t i = 0; i < model->inputs().size(); ++i) {
    const Tensor input = session->input(i);
    if (const std::string problem = write(input, inputs.at(input.name).values); !problem.empty()) return problem;
  }
  if (const Status run = session->run(); !run) return run.error();
  for (size_t i = 0; i < model->outputs().size(); ++i) {
    const Tensor output = session->output(i);
    BlobTensor& blob_tensor = (*outputs)[output.name];
    blob_tensor.dims = source_dims(output);
    if (const std::string problem = read(output, &blob_tensor.values); !problem.empty()) return problem;
  }
  return "";
}

}  // namespace ferry::testing
