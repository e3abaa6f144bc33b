#include "tests/conformance/run_blob.h"

#include <ferry/ferry.hpp>

namespace ferry::testing {
namespace {

std::vector<int64_t> source_dims(const Tensor& t) {
  std::vector<int64_t> dims(t.shape, t.shape + t.rank);
  if (t.source_layout == FERRY_LAYOUT_NCHW) dims = {dims[0], dims[3], dims[1], dims[2]};
  return dims;
}

}  // namespace

std::string run_blob(const std::byte* blob, size_t size, const BlobTensors& inputs, BlobTensors* outputs) {
  Result<Model> model = Model::open_memory(blob, size);
  if (!model) return model.error();
  Result<Session> session = model->session();
  if (!session) return session.error();
  for (size_t i = 0; i < model->inputs().size(); ++i) {
    const Tensor input = session->input(i);
    if (const Status set = input.write_source(inputs.at(input.name).values); !set) return set.error();
  }
  if (const Status run = session->run(); !run) return run.error();
  for (size_t i = 0; i < model->outputs().size(); ++i) {
    const Tensor output = session->output(i);
    Result<std::vector<float>> values = output.read_source();
    if (!values) return values.error();
    (*outputs)[output.name] = {source_dims(output), *values};
  }
  return "";
}

}  // namespace ferry::testing
