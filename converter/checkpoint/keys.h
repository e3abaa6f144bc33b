// Names of a checkpoint's tensors as its network expects them. People save networks inside of wrappers (DataParallel,
// torch.compile, Lightning, averages of weights) and without the head of the class around them, so names gain and lose
// prefixes. All formats share these rules. Every rule that changes a name adds a sentence to Checkpoint::notes().
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converter/checkpoint/checkpoint.h"

namespace ferry {

// A checkpoint with other names, other tensors or fewer of them. `notes` are added to those of `checkpoint`.
std::shared_ptr<const Checkpoint> with_tensors(std::shared_ptr<const Checkpoint> checkpoint,
                                               std::map<std::string, CheckpointTensor> tensors,
                                               std::vector<std::string> notes);

// The tensors whose names have these first components ("ema", "state_dict/ema"). Throws Error that begins with `where`
// and lists the first components that there are, if there is none.
std::map<std::string, CheckpointTensor> tensors_under(std::map<std::string, CheckpointTensor> tensors,
                                                      const std::string& prefix, const std::string& where);

// The user's own rules; std::regex, syntax of ECMAScript.
struct KeyRules {
  std::vector<std::string> ignore = {};  // a key in which one of these matches is left out
  std::vector<std::string> rename = {};  // "OLD=NEW": every match of OLD becomes NEW, in which $1 is a group; in order
};
// Throws Error that names the option of an invalid rule.
void check_key_rules(const KeyRules& rules);
// `ignore` sees the checkpoint's own keys, `rename` those that remain. Throws Error if a rule matches no key, or if two
// keys get one name.
std::shared_ptr<const Checkpoint> with_key_rules(std::shared_ptr<const Checkpoint> checkpoint, const KeyRules& rules);

// Removes the components that wrappers insert anywhere in a name: "module" (DataParallel), "_orig_mod" (torch.compile),
// those of FSDP and of activation checkpointing. Returns the checkpoint itself if two names would become the same.
std::shared_ptr<const Checkpoint> without_wrappers(std::shared_ptr<const Checkpoint> checkpoint);

// How the names that a network expects differ from a checkpoint's: by `strip` at their beginning, in whose place they
// have `add`. Both are empty or end with a separator ("." or "/").
struct KeyPrefix {
  std::string strip, add;

  bool operator==(const KeyPrefix&) const = default;
  // Number of components that differ. 0: the names are the same.
  size_t size() const;
};

// Every prefix with which the checkpoint has all of `probes`, the smallest first; at equal size, those that only strip.
std::vector<KeyPrefix> prefixes_for(const Checkpoint& checkpoint, std::span<const std::string> probes);

// Renames the keys by `prefix`, one of prefixes_for(). Names that do not begin with `strip` are unchanged, as are those
// that begin with a component in `apart`, if nothing is stripped. If there are several copies of the network, which
// differ in `strip` only, one remains: averaged weights (EMA), unless they lack a key. Throws Error, with the prefixes,
// if no rule chooses one.
std::shared_ptr<const Checkpoint> with_prefix(std::shared_ptr<const Checkpoint> checkpoint, const KeyPrefix& prefix,
                                              std::span<const std::string> probes, std::span<const std::string> apart);

// Whether a part of training state is an average of weights ("ema"), or the weights ("model"), by its name.
bool names_average(std::string_view name);
bool names_weights(std::string_view name);

}  // namespace ferry
