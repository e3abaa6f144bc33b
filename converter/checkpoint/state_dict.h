// Which of a PyTorch file's dictionaries holds the weights, and under which names.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converter/checkpoint/pickle.h"

namespace ferry {

// Is it what a tensor or a parameter is rebuilt by?
bool is_tensor(const PickleValue& value);

// The tensors of one dictionary, by their names there less the wrappers' prefixes ("module.", "_orig_mod.",
// "timm_model.") that all of them share. Entries that are no tensors are left out.
//
// Which dictionary: the one at `path` ("model", "model/ema"), if one is named. Else of those that hold tensors the only
// one; else the only one whose path has a name of averaged weights (state_dict_ema, model_ema, ema_state_dict, ema,
// params_ema, teacher), as timm and BasicSR choose; else the only one with a name of weights (state_dict,
// model_state_dict, model, params, module, net, network, weights); else the outermost, if it holds tensors itself.
// Throws Error, beginning with `where`, listing candidates, where none of this decides.
std::vector<std::pair<std::string, const PickleValue*>> find_state_dict(const PickleValue& root,
                                                                        const std::string& path,
                                                                        const std::string& where);

}  // namespace ferry
