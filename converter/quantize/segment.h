// A network computed piece by piece over several texts, so that neither its weights nor its activations are in memory
// whole.
//
//     Stream stream(graph, sequences, threads);
//     stream.advance(layer.front());                 // the operators before this one, for all sequences
//     stream.values(0, input_of_layer);
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/quantize/network.h"
#include "converter/quantize/sample.h"

namespace ferry::int8 {

// The operators [begin, end) of `whole`, without its other graphs, as a graph of their own. Its inputs and outputs are,
// in order, the activations `inputs` and `outputs` of `whole`: what earlier operators or the caller computed, and what
// later ones or the caller read.
struct Segment {
  std::unique_ptr<Graph> graph;
  std::vector<TensorId> inputs, outputs;
};
Segment segment_of(Graph& whole, size_t begin, size_t end);

class Stream {
 public:
  // `graph`, which must outlive this object, has one input, token ids [1,L], and no state is filled when a sequence
  // begins. `graph` may change between calls in constants of operators that were not computed yet.
  Stream(Graph& graph, std::span<const std::vector<int32_t>> sequences, int threads);

  // Computes the operators before `end` that were not computed yet, for all sequences, and forgets what no later
  // operator reads. Throws Error like Network.
  void advance(size_t end);
  // Of a Float32 activation that a later operator reads.
  std::span<const float> values(size_t sequence, TensorId activation) const;

  // The operators that advance() has not computed, for one sequence at a time.
  class Rest {
   public:
    explicit Rest(Stream& stream);
    // The graph's first output; valid until the next call.
    std::span<const float> run(size_t sequence);
    Pool* pool() const { return network_.pool(); }

   private:
    Stream& stream_;
    Segment segment_;
    Network network_;
  };

 private:
  using Values = std::map<TensorId, Sample::Input>;
  static Sample inputs_of(const Segment& segment, const Values& values);

  Graph& graph_;
  int threads_;
  size_t at_ = 0;                 // the first operator that was not computed
  std::vector<Values> computed_;  // of each sequence
};

}  // namespace ferry::int8
