// Runs a graph on the CPU, to observe its values.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/quantize/sample.h"

namespace ferry {
class Model;
class Pool;
class Session;
}  // namespace ferry

namespace ferry::int8 {

class Network {
 public:
  // `watched`: activations to observe beside the outputs. `threads`: as in SessionOptions. Throws Error if the graph
  // cannot run.
  Network(Graph& graph, std::span<const TensorId> watched, int threads);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // States are empty before it. Throws Error with the sample's name if the run fails.
  void run(const Sample& sample);
  // Of an output or watched activation, after a run; the 4 bytes of each Int32 element as a float.
  std::span<const float> values(TensorId tensor) const;
  const Shape& shape(TensorId tensor) const;
  // The threads, for other work between the runs.
  Pool* pool() const;

 private:
  std::unique_ptr<void, void (*)(void*)> blob_;  // declared first: the model reads it
  std::shared_ptr<Model> model_;
  std::unique_ptr<Session> session_;
};

}  // namespace ferry::int8
