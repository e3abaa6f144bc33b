// A checkpoint's weights, by the framework's names. Each key must be used exactly once.
//
//     Tensor block(const Weights& w, Tensor x) {                      // w = weights["layer1"][0]
//       Tensor y = conv2d(x, w["conv1"], {.out = 64, .kernel = 3});   // reads "layer1.0.conv1.weight"
//       return x + y * w("gamma");                                    // reads "layer1.0.gamma"
//     }
//
// A Weights is a prefix into a Ledger. The ledger has the checkpoint's naming (converter/graph/naming.h): code uses
// canonical names and receives weights in the blob's order (O,KH,KW,I and O,I), independent of the checkpoint. With
// WeightLayout::Keras, it reads "module/kernel" and "module/bias". A new Keras family therefore only needs its module
// names, and a rename table if they are not the canonical ones.
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

// How a parameter was read: as an array of shape `seen` with the number of stored elements, then permuted. `scales`:
// the key of the scales, if it is the blocks of MXFP4 elements.
struct Reading {
  Shape seen;
  std::vector<int> perm;
  std::string scales = {};
};

// Tracks which keys of a checkpoint were used. One ledger per checkpoint and conversion.
class Ledger {
 public:
  enum class Mode {
    Read,  // reads weights
    Try,   // a trial run: names and shapes are checked, values are placeholders; to identify a file
  };
  // `naming` must outlive the ledger.
  Ledger(std::shared_ptr<const Checkpoint> checkpoint, const Naming& naming, Mode mode = Mode::Read);

  const Naming& naming() const { return naming_; }
  Mode mode() const { return mode_; }
  const std::shared_ptr<const Checkpoint>& checkpoint() const { return checkpoint_; }

  // Null if missing. Does not mark the key.
  const CheckpointTensor* find(const std::string& key) const;
  // Marks `key` as used by `module`. Throws Error if it is missing or already used.
  const CheckpointTensor& use(const std::string& key, const std::string& module);
  // Marks all keys with this prefix as deliberately unused. Returns their number.
  size_t discard(const std::string& prefix);
  // Keys that became constants; those that only entered arithmetic are not included.
  std::map<std::string, Reading> readings;
  // Notes for the user about unused parts of the checkpoint, and those about what cannot matter.
  std::vector<std::string> notes, details;
  // Marks a buffer as used: `what` is computed from the configuration, and the checkpoint has the same values.
  void use_buffer(const std::string& key, const std::string& module, const std::string& what);
  // Constants of modules that run several times, by their source.
  std::map<std::string, Tensor>& made() { return made_; }
  // Adds the details. Throws Error with the unused keys. Counters (num_batches_tracked, n_averaged...), position_ids in
  // order and tensors without elements cannot matter.
  void finish();

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  const Naming& naming_;
  Mode mode_;
  std::set<std::string> used_;
  std::map<std::string, size_t> computed_;  // buffers, by what they are
  std::map<std::string, Tensor> made_;
};

// The order of a parameter's elements in a checkpoint. `stored` is its shape there; it is reshaped to `seen`, permuted
// by `perm`, and reshaped to `shape` [d0,d1,...]. The mapping is a bijection, so the inverse permutation restores the
// checkpoint's order.
struct Order {
  Shape stored, seen;
  std::vector<int> perm;
  Shape shape;
};

class Weights {
 public:
  Weights(Graph& graph, Ledger& ledger) : graph_(&graph), ledger_(&ledger) {}

  // A submodule: w["layer1"][0]["conv1"] equals w["layer1.0.conv1"].
  Weights operator[](std::string_view name) const;
  Weights operator[](int index) const { return (*this)[std::string_view(std::to_string(index))]; }

  // A parameter as stored. Its shape must be `shape`; an empty shape accepts any.
  Tensor operator()(std::string_view leaf, const Shape& shape = {}) const;
  // This path itself as a parameter, so that namings can rename it: w["cls_token"].parameter({1, 1, 384}).
  Tensor parameter(const Shape& shape) const { return (*this)("", shape); }
  // Convolution weights as O,KH,KW,I. A dimension of 0 accepts any.
  Tensor kernel(const Shape& shape) const;
  // Weights of a transposed convolution as O,KH,KW,I/groups. A dimension of 0 accepts any, except the last.
  Tensor transposed_kernel(const Shape& shape, int groups) const;
  // Linear weights as O,I. A dimension of 0 accepts any.
  Tensor matrix(const Shape& shape) const;
  // A parameter in another order.
  Tensor reordered(std::string_view leaf, const Order& order) const;
  // The same for a parameter stored as MXFP4 (converter/checkpoint/mxfp4.h), in `leaf`_blocks and `leaf`_scales.
  Tensor reordered_mxfp4(std::string_view leaf, const Order& order) const;
  // A vector's elements in double, for arithmetic at conversion.
  std::vector<double> values(std::string_view leaf, int count) const;
  // Marks a buffer as used that the configuration determines, if the checkpoint has it. Throws Error unless its values
  // are one of `expected`, within the precision of its type: the checkpoint would be of another configuration.
  void computed(std::string_view leaf, const std::vector<std::vector<double>>& expected) const;
  // Marks this module's keys, or this parameter, as deliberately unused.
  void discard() const;
  // The same for an optional module, with a note for the user. `what` describes the module.
  void leave_out(const std::string& what) const;

  bool has(std::string_view leaf) const;
  // A parameter's stored shape; rank 0 if missing. Does not mark the key.
  Shape stored_shape(std::string_view leaf) const;

  Graph& graph() const { return *graph_; }
  const std::string& path() const { return path_; }
  // The source framework's name of this module.
  std::string name() const { return source_module(ledger_->naming(), path_); }
  std::vector<std::string> tap_names() const;
  // The source framework's layout of feature maps in this module and its submodules.
  fbs::Layout map_layout() const {
    return channels_last_ || ledger_->naming().layout == WeightLayout::Keras ? fbs::Layout::Same : fbs::Layout::NCHW;
  }
  // The same module in N,H,W,C: its taps have the same layout in the source framework.
  Weights channels_last() const {
    Weights same = *this;
    same.channels_last_ = true;
    return same;
  }
  bool trying() const { return ledger_->mode() == Ledger::Mode::Try; }

  // The same module's n-th run after the first. It reuses the constants of the first run; its taps are "module#n", as
  // fixtures number a module's calls.
  Weights again(int n) const;
  // The constant `what`, computed by `make` from this module's parameters: once, even if the module runs several times.
  Tensor once(const std::string& what, const std::function<Tensor()>& make) const;

 private:
  const char* separator() const;
  // Marks `key` as used, in the first run.
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
