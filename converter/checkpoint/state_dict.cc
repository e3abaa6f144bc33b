#include "converter/checkpoint/state_dict.h"

#include <algorithm>
#include <set>

#include "converter/checkpoint/json.h"
#include "converter/checkpoint/keys.h"
#include "converter/error.h"

namespace ferry {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxDepth = 4;
constexpr size_t kMaxModuleDepth = 64, kMaxEntries = 1'000'000;  // a hostile file may share modules in every level

using Entries = std::vector<std::pair<std::string, const PickleValue*>>;

struct Candidate {
  std::vector<std::string_view> path;
  const PickleValue* dict;

  std::string name() const {
    std::string text;
    for (std::string_view part : path) text += (text.empty() ? "" : "/") + std::string(part);
    return text;
  }

  bool has_part(bool (*is)(std::string_view)) const { return std::any_of(path.begin(), path.end(), is); }
};

// A dictionary, the prefix of the keys to read from it (empty: all), and why it was chosen.
struct Chosen {
  const PickleValue* dict;
  std::string prefix = {}, note = {};
};

// The value of a dictionary's key; null without one.
const PickleValue* member(const PickleValue& dict, std::string_view key) {
  for (size_t i = 1; i < dict.items.size(); i += 2)
    if (dict.items[i - 1]->kind == Kind::Text && dict.items[i - 1]->text == key) return dict.items[i];
  return nullptr;
}

// A torch.nn.Module: an object of any class with the attributes of its base class.
bool is_module(const PickleValue& value) {
  if (value.kind != Kind::Call || value.state == nullptr || value.state->kind != Kind::Dict) return false;
  for (const char* name : {"_parameters", "_buffers", "_modules"})
    if (const PickleValue* all = member(*value.state, name); all == nullptr || all->kind != Kind::Dict) return false;
  return true;
}

void add_tensors(const PickleValue& dict, const std::string& prefix, const PickleValue* without, Entries* out) {
  for (size_t i = 1; i < dict.items.size(); i += 2) {
    const PickleValue& key = *dict.items[i - 1];
    const auto is_key = [&](const PickleValue* name) { return name->text == key.text; };
    const bool left_out = without != nullptr && std::any_of(without->items.begin(), without->items.end(), is_key);
    if (key.kind == Kind::Text && is_tensor(*dict.items[i]) && !left_out)
      out->emplace_back(prefix + std::string(key.text), dict.items[i]);
  }
}

// Module.state_dict(): parameters and persistent buffers of the module and of those inside it.
void add_state(const PickleValue& module, const std::string& prefix, size_t depth, const std::string& where,
               Entries* out) {
  if (depth > kMaxModuleDepth || out->size() > kMaxEntries)
    fail("%s: holds modules in more than %zu levels, or more than %zu tensors", where.c_str(), kMaxModuleDepth,
         kMaxEntries);
  add_tensors(*member(*module.state, "_parameters"), prefix, nullptr, out);
  add_tensors(*member(*module.state, "_buffers"), prefix, member(*module.state, "_non_persistent_buffers_set"), out);
  const PickleValue& inner = *member(*module.state, "_modules");
  for (size_t i = 1; i < inner.items.size(); i += 2)
    if (inner.items[i - 1]->kind == Kind::Text && is_module(*inner.items[i]))
      add_state(*inner.items[i], prefix + std::string(inner.items[i - 1]->text) + ".", depth + 1, where, out);
}

// The tensors of a dictionary or module, by name.
Entries entries_of(const PickleValue& value, const std::string& where) {
  Entries out;
  if (value.kind == Kind::Dict)
    add_tensors(value, "", nullptr, &out);
  else
    add_state(value, "", 0, where, &out);
  return out;
}

// Collects the dictionaries that contain tensors directly, and modules, each once.
void collect(const PickleValue& dict, std::vector<std::string_view>& path, std::set<const PickleValue*>& seen,
             std::vector<Candidate>& found) {
  if (!seen.insert(&dict).second) return;
  if (is_module(dict)) {
    found.push_back({path, &dict});
    return;
  }
  for (size_t i = 1; i < dict.items.size(); i += 2)
    if (dict.items[i - 1]->kind == Kind::Text && is_tensor(*dict.items[i])) {
      found.push_back({path, &dict});
      break;
    }
  if (path.size() == kMaxDepth) return;
  for (size_t i = 1; i < dict.items.size(); i += 2) {
    const bool nests = dict.items[i]->kind == Kind::Dict || is_module(*dict.items[i]);
    if (dict.items[i - 1]->kind != Kind::Text || !nests) continue;
    path.push_back(dict.items[i - 1]->text);
    collect(*dict.items[i], path, seen, found);
    path.pop_back();
  }
}

std::string list(const std::vector<Candidate>& candidates) {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(candidates.size(), 8); ++i)
    text += (i ? ", " : "") + in_quotes(candidates[i].name());
  return text + (candidates.size() > 8 ? "..." : "");
}

Chosen choose(const std::vector<Candidate>& candidates, const std::string& where) {
  if (candidates.size() == 1) return {candidates.front().dict};
  for (const auto is : {names_average, names_weights}) {
    std::vector<Candidate> named;
    for (const Candidate& candidate : candidates)
      if (candidate.has_part(is)) named.push_back(candidate);
    if (named.size() == 1)
      return {named.front().dict, "",
              "of the dictionaries " + list(candidates) + ", " + in_quotes(named.front().name()) + " is read" +
                  (is == names_average ? " (averaged weights)" : "") + "; --state-dict reads another"};
    if (named.size() > 1)
      fail("%s: contains several dictionaries of tensors: choose one with --state-dict: %s", where.c_str(),
           list(named).c_str());
  }
  if (candidates.front().path.empty()) return {candidates.front().dict};
  fail("%s: contains several dictionaries of tensors: choose one with --state-dict: %s", where.c_str(),
       list(candidates).c_str());
}

// The dictionary at `path`, or the one whose keys have it, or the rest of it, as a prefix.
Chosen resolve(const std::vector<Candidate>& candidates, const std::string& path, const std::string& where) {
  if (path.empty()) return choose(candidates, where);
  for (const Candidate& candidate : candidates)
    if (candidate.name() == path) return {candidate.dict};
  const auto has_prefix = [&where](const PickleValue& dict, const std::string& prefix) {
    const Entries all = entries_of(dict, where);
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& entry) { return entry.first.starts_with(prefix + "."); });
  };
  std::vector<Chosen> found;
  for (const Candidate& candidate : candidates) {
    const std::string outer = candidate.path.empty() ? "" : candidate.name() + "/";
    for (const std::string& rest : {path.starts_with(outer) ? path.substr(outer.size()) : path, path})
      if ((found.empty() || found.back().dict != candidate.dict) && has_prefix(*candidate.dict, rest))
        found.push_back({candidate.dict, rest});
  }
  if (found.size() == 1) return found.front();
  fail("%s: has no dictionary of tensors at %s; there are: %s", where.c_str(), in_quotes(path).c_str(),
       list(candidates).c_str());
}

}  // namespace

bool is_tensor(const PickleValue& value) {
  if (value.kind != Kind::Call) return false;
  return value.text.starts_with("torch._utils._rebuild_") || value.text == "torch._tensor._rebuild_from_type_v2" ||
         value.text.ends_with("multiarray._reconstruct");
}

StateDict find_state_dict(const PickleValue& root, const std::string& path, const std::string& where) {
  std::vector<Candidate> candidates;
  std::vector<std::string_view> at;
  std::set<const PickleValue*> seen;
  if (root.kind == Kind::Dict || is_module(root)) collect(root, at, seen, candidates);
  if (candidates.empty() && root.kind == Kind::Call && !is_tensor(root))
    fail(
        "%s: is the Python object %s, not a dictionary of tensors: torch.save(model.state_dict(), \"weights.pth\") "
        "writes one",
        where.c_str(), in_quotes(root.text).c_str());
  if (candidates.empty())
    fail("%s: contains no dictionary of tensors: torch.save(model.state_dict(), \"weights.pth\") writes one",
         where.c_str());
  const auto [dict, prefix, note] = resolve(candidates, path, where);
  StateDict out{entries_of(*dict, where), note};
  if (!prefix.empty())
    std::erase_if(out.tensors, [inside = prefix + "."](const auto& entry) { return !entry.first.starts_with(inside); });
  return out;
}

}  // namespace ferry
