// Weights of a checkpoint, found by the framework's names, every key used exactly once.
//
//     Tensor block(const Weights& w, Tensor x) {                      // w = weights["layer1"][0]
//       Tensor y = conv2d(x, w["conv1"], {.out = 64, .kernel = 3});   // reads "layer1.0.conv1.weight"
//       return x + y * w("gamma");                                    // reads "layer1.0.gamma"
//     }
//
// A Weights is a prefix into a Ledger. The ledger knows the checkpoint's naming (converter/graph/naming.h): code always
// speaks canonical names and gets weights in the blob's order (O,KH,KW,I and O,I), whatever the checkpoint holds.
// A naming with WeightLayout::Keras reads "module/kernel" and "module/bias" where the code says `kernel` and "bias"; a
// new Keras family therefore only needs its module names (and a rename table where they are not the canonical ones).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "converter/checkpoint/checkpoint.h"
#include "converter/graph/graph.h"
#include "converter/graph/naming.h"

namespace ferry {

// How a parameter was read: as an array of the shape `seen`, of as many elements as are stored, with its dimensions
// permuted. `scales`: the key of the scales, where it is the blocks of MXFP4 numbers.
struct Reading {
  Shape seen;
  std::vector<int> perm;
  std::string scales = {};
};

// Which keys of a checkpoint were used. Lives as long as the building of one graph.
class Ledger {
 public:
  enum class Mode {
    Read,  // weights are read
    Try,   // names and shapes only: constants have the right shape and no meaning. For finding out what a file holds.
  };
  // `naming` must outlive the ledger.
  Ledger(std::shared_ptr<const Checkpoint> checkpoint, const Naming& naming, Mode mode = Mode::Read);

  const Naming& naming() const { return naming_; }
  Mode mode() const { return mode_; }
  const std::shared_ptr<const Checkpoint>& checkpoint() const { return checkpoint_; }

  // Null where there is none. Does not mark.
  const CheckpointTensor* find(const std::string& key) const;
  // Marks `key` as used by `module`. Throws Error where it is missing or was used before.
  const CheckpointTensor& use(const std::string& key, const std::string& module);
  // Marks every key that begins with `prefix` as seen and left aside on purpose. How many there are.
  size_t discard(const std::string& prefix);
  // Of the keys that became constants; those that only arithmetic read have none.
  std::map<std::string, Reading> readings;
  // Sentences about what is left aside that whoever converts should know.
  std::vector<std::string> notes;
  // Constants of modules that run several times, by what they were made of.
  std::map<std::string, Tensor>& made() { return made_; }
  // Throws Error that names the keys nobody used. num_batches_tracked is BatchNorm's step counter, of no use here.
  void finish() const;

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  const Naming& naming_;
  Mode mode_;
  std::set<std::string> used_;
  std::map<std::string, Tensor> made_;
};

// Where a parameter's elements lie in a checkpoint, as data: `stored` there, of which the graph wants [d0,d1,...]
// `shape`: they are seen as `seen`, of as many elements, whose dimensions are then permuted. Moves every element, and
// each once: the way back is the same with the inverse permutation.
struct Order {
  Shape stored, seen;
  std::vector<int> perm;
  Shape shape;
};

class Weights {
 public:
  Weights(Graph& graph, Ledger& ledger) : graph_(&graph), ledger_(&ledger) {}

  // A module inside this one: w["layer1"][0]["conv1"] and w["layer1.0.conv1"] are the same.
  Weights operator[](std::string_view name) const;
  Weights operator[](int index) const { return (*this)[std::string_view(std::to_string(index))]; }

  // A parameter as it is stored, of the shape [d0,d1,...] that must hold; an empty shape accepts any.
  Tensor operator()(std::string_view leaf, const Shape& shape = {}) const;
  // This name itself as a parameter, so that namings can call it what they like: w["cls_token"].parameter({1, 1, 384}).
  Tensor parameter(const Shape& shape) const { return (*this)("", shape); }
  // Convolution weights as O,KH,KW,I. A dimension of 0 accepts any.
  Tensor kernel(const Shape& shape) const;
  // Weights of a transposed convolution as O,KH,KW,I/groups, of that shape. A dimension of 0 accepts any but the last.
  Tensor transposed_kernel(const Shape& shape, int groups) const;
  // Linear weights as O,I. A dimension of 0 accepts any.
  Tensor matrix(const Shape& shape) const;
  // A parameter in another order.
  Tensor reordered(std::string_view leaf, const Order& order) const;
  // The same of numbers that are stored as MXFP4 (converter/checkpoint/mxfp4.h), in `leaf`_blocks and `leaf`_scales.
  Tensor reordered_mxfp4(std::string_view leaf, const Order& order) const;
  // A vector's elements in double, for arithmetic at conversion.
  std::vector<double> values(std::string_view leaf, int count) const;
  // This module's keys, or this parameter, are known and not wanted.
  void discard() const;
  // The same of a module, where there is one, of which whoever converts should know: `what` it is.
  void leave_out(const std::string& what) const;

  bool has(std::string_view leaf) const;
  // A parameter's shape as stored; rank 0 where it is missing. Does not mark.
  Shape stored_shape(std::string_view leaf) const;

  Graph& graph() const { return *graph_; }
  const std::string& path() const { return path_; }
  // What the source framework calls this module.
  std::string name() const { return source_module(ledger_->naming(), path_); }
  std::vector<std::string> tap_names() const;
  // Of feature maps that this module and those inside it give in the source framework.
  fbs::Layout map_layout() const {
    return channels_last_ || ledger_->naming().layout == WeightLayout::Keras ? fbs::Layout::Same : fbs::Layout::NCHW;
  }
  // The same module where the source framework computes on N,H,W,C: its taps are compared as they are.
  Weights channels_last() const {
    Weights same = *this;
    same.channels_last_ = true;
    return same;
  }
  bool trying() const { return ledger_->mode() == Ledger::Mode::Try; }

  // The same module run once more, for the n-th time after the first: it has the constants that the first run read, and
  // its taps the names "module#n", by which fixtures count the calls of a module.
  Weights again(int n) const;
  // The constant `what` that `make` computes of this module's parameters: computed once, however often the module runs.
  Tensor once(const std::string& what, const std::function<Tensor()>& make) const;

 private:
  const char* separator() const;
  // Marks `key` as used, at the first run.
  const CheckpointTensor& use(const std::string& key) const;
  std::string key(std::string_view leaf) const;
  Tensor permuted(const std::string& key, const Shape& stored, const std::vector<int>& perm) const;
  Tensor read(const std::string& key, const Shape& stored, const std::vector<int>& perm) const;

  Graph* graph_;
  Ledger* ledger_;
  std::string path_;
  bool channels_last_ = false;
  int run_ = 0;
};

}  // namespace ferry
