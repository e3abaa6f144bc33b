// Finds the dictionary of a PyTorch file that contains the weights, and their names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "converter/checkpoint/pickle.h"

namespace ferry {

// Whether `value` is a call that rebuilds a tensor or a parameter, or a NumPy array. Its reader may refuse it.
bool is_tensor(const PickleValue& value);

// Returns the tensors of one dictionary, by name. Entries that are not tensors are omitted. A torch.nn.Module counts as
// the dictionary that its state_dict() returns.
//
// The dictionary is the one at `path` ("model", "model/ema"), if given; `path` may end with a prefix of its keys
// ("state_dict/ema"). Otherwise it is chosen among those that contain tensors: the only one; else the only one whose
// path has a name of averaged weights (names_average() of keys.h: state_dict_ema, model_ema, ema...), as timm and
// BasicSR choose; else the only one with a name of weights (names_weights(): state_dict, model, params...); else the
// outermost, if it contains tensors directly. Throws Error that begins with `where` and lists the candidates if none of
// these rules applies.
struct StateDict {
  std::vector<std::pair<std::string, const PickleValue*>> tensors;
  std::string note;  // a sentence that says which of several was chosen; empty if `path` or the only one
};
StateDict find_state_dict(const PickleValue& root, const std::string& path, const std::string& where);

}  // namespace ferry
