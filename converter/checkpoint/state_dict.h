// Finds the dictionary of a PyTorch file that contains the weights, and their names.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converter/checkpoint/pickle.h"

namespace ferry {

// Whether `value` is a call that rebuilds a tensor or a parameter.
bool is_tensor(const PickleValue& value);

// Returns the tensors of one dictionary, by name, without wrapper prefixes ("module.", "_orig_mod.", "timm_model.")
// that all of them share. Entries that are not tensors are omitted.
//
// The dictionary is the one at `path` ("model", "model/ema"), if given. Otherwise it is chosen among those that contain
// tensors: the only one; else the only one whose path has a name of averaged weights (state_dict_ema, model_ema,
// ema_state_dict, ema, params_ema, teacher), as timm and BasicSR choose; else the only one with a name of weights
// (state_dict, model_state_dict, model, params, module, net, network, weights); else the outermost, if it contains
// tensors directly. Throws Error that begins with `where` and lists the candidates if none of these rules applies.
std::vector<std::pair<std::string, const PickleValue*>> find_state_dict(const PickleValue& root,
                                                                        const std::string& path,
                                                                        const std::string& where);

}  // namespace ferry
