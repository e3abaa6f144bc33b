#include "converter/quantize/network.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "converter/pack/pack.h"
#include "sdk/graph/session.h"
#include "sdk/model/model.h"

namespace ferry::int8 {
namespace {

void run_or_fail(const Status& status, const char* what) {
  if (!status.ok()) fail("%s: %s", what, status.message().data());
}

}  // namespace

Network::Network(Graph& graph, std::span<const TensorId> watched, int threads) : blob_(nullptr, std::free) {
  const std::unique_ptr<Graph> visible = graph.copy();
  visible->table.taps.clear();
  visible->table.postprocess.reset();  // may name another graph of the blob
  for (const TensorId tensor : watched)
    visible->add_tap("watched/" + std::to_string(index_of(tensor)), {visible.get(), tensor}, fbs::Layout::Same, false);
  const std::vector<std::byte> packed = pack(*visible);
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, packed.size()) != 0) throw std::bad_alloc();
  std::memcpy(memory, packed.data(), packed.size());
  blob_.reset(memory);
  run_or_fail(Model::open_memory(memory, packed.size(), &model_), "the network");
  SessionOptions options;
  options.num_threads = threads;
  options.all_taps = true;
  options.skip_weight_check = true;
  run_or_fail(Session::create(model_, options, &session_), "the network");
}

Network::~Network() = default;

void Network::run(const Sample& sample) {
  const auto& inputs = *model_->graph().inputs();
  std::vector<Shape> shapes;
  bool same = true;
  for (unsigned i = 0; i < inputs.size(); ++i) {
    shapes.push_back(sample.inputs[i].shape);
    same = same && session_->shape(inputs.Get(i)->tensor()) == shapes.back();
  }
  if (session_->states() != nullptr) run_or_fail(session_->states()->truncate(0), sample.name.c_str());
  if (!same) run_or_fail(session_->resize(shapes), sample.name.c_str());
  for (unsigned i = 0; i < inputs.size(); ++i)
    std::memcpy(session_->data(inputs.Get(i)->tensor()), sample.inputs[i].bytes.data(), sample.inputs[i].bytes.size());
  run_or_fail(session_->run(), sample.name.c_str());
}

std::span<const float> Network::values(TensorId tensor) const {
  return {static_cast<const float*>(session_->data(tensor)), static_cast<size_t>(shape(tensor).elements())};
}

Pool* Network::pool() const { return session_->pool(); }

const Shape& Network::shape(TensorId tensor) const { return session_->shape(tensor); }

}  // namespace ferry::int8
