#include "converter/checkpoint/keys.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry {
namespace {

using Tensors = std::map<std::string, CheckpointTensor>;

// Modules that wrap another one and pass its outputs on: DataParallel, torch.compile, FSDP, activation checkpointing,
// DeepSpeed's strategy in Lightning.
constexpr std::array<std::string_view, 5> kWrappers = {"module", "_orig_mod", "_fsdp_wrapped_module",
                                                       "_checkpoint_wrapped_module", "_forward_module"};

constexpr std::array<std::string_view, 15> kAveraged = {
    "state_dict_ema", "model_ema", "ema_state_dict", "ema_model", "ema",       "params_ema", "teacher",   "ema_net",
    "net_ema",        "net_g_ema", "ema_weights",    "averaged",  "avg_model", "swa_model",  "module_ema"};
constexpr std::array<std::string_view, 8> kWeights = {"state_dict", "model_state_dict", "model",  "params", "module",
                                                      "net",        "network",          "weights"};

constexpr bool is_separator(char c) { return c == '.' || c == '/'; }

// "38 keys"
std::string keys_text(size_t count) { return std::to_string(count) + (count == 1 ? " key" : " keys"); }

std::string quoted(const std::string& name) { return "'" + name + "'"; }

// The first component and its separator; the whole name without one.
size_t component_end(std::string_view name, size_t begin) {
  const size_t at = name.find_first_of("./", begin);
  return at == name.npos ? name.size() : at + 1;
}

// The name without the components of wrappers. `seen` collects those.
std::string unwrapped(const std::string& name, std::set<std::string>* seen) {
  std::string out;
  for (size_t at = 0; at < name.size();) {
    const size_t end = component_end(name, at);
    const bool last = !is_separator(name[end - 1]);
    const std::string component = name.substr(at, end - at - (last ? 0 : 1));
    if (!last && std::find(kWrappers.begin(), kWrappers.end(), component) != kWrappers.end())
      seen->insert(component + name[end - 1]);
    else
      out += name.substr(at, end - at);
    at = end;
  }
  return out;
}

// One of the names under `prefix`, by any component, is in `list`.
bool has_component(std::string_view prefix, bool (*is)(std::string_view)) {
  for (size_t at = 0; at < prefix.size();) {
    const size_t end = component_end(prefix, at);
    if (is(prefix.substr(at, end - at - 1))) return true;
    at = end;
  }
  return false;
}

// A copy of the network in a checkpoint: the keys that begin with `strip`, without it.
struct Copy {
  std::string strip;
  std::set<std::string> names;
};

// --state-dict for a prefix of keys.
std::string as_option(const std::string& strip) { return strip.substr(0, strip.size() - 1); }

std::string name_of(const Copy& copy) { return copy.strip.empty() ? "the one without a prefix" : quoted(copy.strip); }

std::optional<size_t> only(const std::vector<Copy>& copies, bool (*is)(std::string_view)) {
  std::optional<size_t> found;
  for (size_t i = 0; i < copies.size(); ++i) {
    if (!has_component(copies[i].strip, is)) continue;
    if (found) return {};
    found = i;
  }
  return found;
}

// Copies of the network that are complete. Keys of a longer prefix do not belong to a shorter one.
std::vector<Copy> copies_of(const Checkpoint& checkpoint, const KeyPrefix& prefix,
                            std::span<const std::string> probes) {
  std::vector<Copy> copies;
  for (const KeyPrefix& other : prefixes_for(checkpoint, probes))
    if (other.add == prefix.add) copies.push_back({other.strip, {}});
  if (copies.size() < 2) return {};
  for (const auto& [key, tensor] : checkpoint.tensors()) {
    Copy* own = nullptr;
    for (Copy& copy : copies)
      if (key.starts_with(copy.strip) && (!own || own->strip.size() < copy.strip.size())) own = &copy;
    if (own) own->names.insert(key.substr(own->strip.size()));
  }
  return copies;
}

// The copy to read. `why`: for the note.
size_t choose(const std::vector<Copy>& copies, const std::string& file, std::string* why) {
  const std::optional<size_t> averaged = only(copies, names_average), weights = only(copies, names_weights);
  std::optional<size_t> plain;
  for (size_t i = 0; i < copies.size(); ++i)
    if (copies[i].strip.empty()) plain = i;
  if (!plain) plain = weights;
  if (averaged && copies.size() == 2) {
    const Copy &average = copies[*averaged], &other = copies[1 - *averaged];
    const auto lacks = [&](const std::string& name) { return !average.names.contains(name); };
    const auto missing = static_cast<size_t>(std::count_if(other.names.begin(), other.names.end(), lacks));
    if (missing > 0) {
      *why = "the averaged weights under " + quoted(average.strip) + " lack " + keys_text(missing);
      return 1 - *averaged;
    }
  }
  if (averaged) {
    *why = "averaged weights";
    return *averaged;
  }
  if (plain) return *plain;
  std::string names;
  for (const Copy& copy : copies) names += (names.empty() ? "" : ", ") + as_option(copy.strip);
  fail("%s: holds %zu copies of the network; choose one with --state-dict: %s", file.c_str(), copies.size(),
       names.c_str());
}

// Keeps one copy of the network. Returns its prefix.
std::string keep_one(const Checkpoint& checkpoint, const std::vector<Copy>& copies, Tensors* tensors,
                     std::string* note) {
  std::string why;
  const size_t chosen = choose(copies, checkpoint.path().filename().string(), &why);
  const Copy& kept = copies[chosen];
  std::string others;
  for (size_t i = 0; i < copies.size(); ++i) {
    // Without an average, another copy may be part of the network: its keys remain, and must be used.
    if (i == chosen || why.empty()) continue;
    size_t left_out = 0;
    for (const std::string& name : copies[i].names)
      if (kept.names.contains(name)) left_out += tensors->erase(copies[i].strip + name);
    others += (others.empty() ? "" : " and ") + name_of(copies[i]) + " (" + keys_text(left_out) + ")";
    if (!copies[i].strip.empty()) others += ", which --state-dict " + as_option(copies[i].strip) + " reads,";
  }
  if (others.empty()) return kept.strip;
  if (others.back() == ',') others.pop_back();
  *note = "of " + std::to_string(copies.size()) + " copies of the network, " + name_of(kept) + " is read (" + why +
          "), not " + others;
  return kept.strip;
}

// The sentence about `count` renamed keys.
std::string prefix_note(const KeyPrefix& prefix, size_t count) {
  const std::string read = keys_text(count) + (count == 1 ? " is" : " are") + " read ";
  if (prefix.add.empty()) return read + "without the prefix " + quoted(prefix.strip);
  if (prefix.strip.empty()) return read + "with the prefix " + quoted(prefix.add) + ", which the checkpoint leaves out";
  return read + "with the prefix " + quoted(prefix.add) + " instead of " + quoted(prefix.strip);
}

}  // namespace

bool names_average(std::string_view name) {
  return std::find(kAveraged.begin(), kAveraged.end(), name) != kAveraged.end();
}

bool names_weights(std::string_view name) {
  return std::find(kWeights.begin(), kWeights.end(), name) != kWeights.end();
}

std::shared_ptr<const Checkpoint> without_wrappers(std::shared_ptr<const Checkpoint> checkpoint) {
  Tensors tensors;
  std::set<std::string> wrappers;
  size_t renamed = 0;
  for (const auto& [key, tensor] : checkpoint->tensors()) {
    const std::string name = unwrapped(key, &wrappers);
    renamed += name != key;
    if (!tensors.emplace(name, tensor).second) return checkpoint;
  }
  if (renamed == 0) return checkpoint;
  std::string names;
  for (const std::string& wrapper : wrappers) names += (names.empty() ? "" : " and ") + quoted(wrapper);
  return with_tensors(std::move(checkpoint), std::move(tensors),
                      {keys_text(renamed) + (renamed == 1 ? " is" : " are") + " read without " + names +
                       " of a wrapper around the network"});
}

size_t KeyPrefix::size() const {
  return static_cast<size_t>(std::count_if(strip.begin(), strip.end(), is_separator) +
                             std::count_if(add.begin(), add.end(), is_separator));
}

std::vector<KeyPrefix> prefixes_for(const Checkpoint& checkpoint, std::span<const std::string> probes) {
  const Tensors& tensors = checkpoint.tensors();
  std::vector<KeyPrefix> found;
  if (probes.empty()) return {KeyPrefix{}};
  const std::string& first = probes.front();
  const auto has_all = [&](const KeyPrefix& prefix) {
    return std::all_of(probes.begin(), probes.end(), [&](const std::string& probe) {
      return probe.starts_with(prefix.add) && tensors.contains(prefix.strip + probe.substr(prefix.add.size()));
    });
  };
  // What is added leaves two components of the first probe, which are more likely to be its own than one.
  for (size_t cut = 0; component_end(first, cut) < first.size() || cut == 0; cut = component_end(first, cut)) {
    const std::string add = first.substr(0, cut), rest = first.substr(cut);
    for (const auto& [key, tensor] : tensors) {
      if (!key.ends_with(rest)) continue;
      const KeyPrefix prefix{key.substr(0, key.size() - rest.size()), add};
      if (!prefix.strip.empty() && !is_separator(prefix.strip.back())) continue;
      const auto same = [&](const KeyPrefix& known) { return known.strip == prefix.strip + known.add; };
      if (cut > 0 && ("." + prefix.strip).ends_with("." + add)) continue;  // found without the addition
      if (std::none_of(found.begin(), found.end(), same) && has_all(prefix)) found.push_back(prefix);
    }
    if (component_end(first, cut) == first.size()) break;
  }
  std::stable_sort(found.begin(), found.end(), [](const KeyPrefix& a, const KeyPrefix& b) {
    return std::pair(a.size(), a.add.size()) < std::pair(b.size(), b.add.size());
  });
  return found;
}

std::shared_ptr<const Checkpoint> with_prefix(std::shared_ptr<const Checkpoint> checkpoint, const KeyPrefix& given,
                                              std::span<const std::string> probes, std::span<const std::string> apart) {
  const std::vector<Copy> copies = copies_of(*checkpoint, given, probes);
  if (given.size() == 0 && copies.empty()) return checkpoint;
  Tensors tensors = checkpoint->tensors();
  KeyPrefix prefix = given;
  std::string note;
  if (!copies.empty()) prefix.strip = keep_one(*checkpoint, copies, &tensors, &note);
  Tensors renamed;
  size_t count = 0;
  for (auto& [key, tensor] : tensors) {
    const auto is_first = [&longer = key](const std::string& name) { return longer.starts_with(name + "."); };
    const bool stays =
        !key.starts_with(prefix.strip) || (prefix.strip.empty() && std::any_of(apart.begin(), apart.end(), is_first));
    const std::string name = stays ? key : prefix.add + key.substr(prefix.strip.size());
    count += name != key;
    if (!renamed.emplace(name, std::move(tensor)).second)
      fail("the keys %s and %s would both be read as %s: leave one of them out with --ignore-keys",
           in_quotes(name).c_str(),
           in_quotes(prefix.strip + name.substr(std::min(prefix.add.size(), name.size()))).c_str(),
           in_quotes(name).c_str());
  }
  std::vector<std::string> notes;
  if (!note.empty()) notes.push_back(note);
  if (count > 0) notes.push_back(prefix_note(prefix, count));
  return with_tensors(std::move(checkpoint), std::move(renamed), std::move(notes));
}

}  // namespace ferry
