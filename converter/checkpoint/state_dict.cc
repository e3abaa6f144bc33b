#include "converter/checkpoint/state_dict.h"

#include <algorithm>
#include <set>

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kAveraged[] = {"state_dict_ema", "model_ema", "ema_state_dict", "ema",
                                          "params_ema",     "teacher"};
constexpr std::string_view kWeights[] = {"state_dict", "model_state_dict", "model",  "params", "module",
                                         "net",        "network",          "weights"};
constexpr size_t kMaxDepth = 4;

struct Candidate {
  std::vector<std::string_view> path;
  const PickleValue* dict;

  std::string name() const {
    std::string text;
    for (std::string_view part : path) text += (text.empty() ? "" : "/") + std::string(part);
    return text;
  }

  bool has_one_of(std::span<const std::string_view> names) const {
    return std::any_of(path.begin(), path.end(), [&](std::string_view part) {
      return std::find(names.begin(), names.end(), part) != names.end();
    });
  }
};

// Collects the dictionaries that contain tensors directly, each once.
void collect(const PickleValue& dict, std::vector<std::string_view>& path, std::set<const PickleValue*>& seen,
             std::vector<Candidate>& found) {
  if (!seen.insert(&dict).second) return;
  for (size_t i = 1; i < dict.items.size(); i += 2)
    if (dict.items[i - 1]->kind == Kind::Text && is_tensor(*dict.items[i])) {
      found.push_back({path, &dict});
      break;
    }
  if (path.size() == kMaxDepth) return;
  for (size_t i = 1; i < dict.items.size(); i += 2) {
    if (dict.items[i - 1]->kind != Kind::Text || dict.items[i]->kind != Kind::Dict) continue;
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

const PickleValue& choose(const std::vector<Candidate>& candidates, const std::string& path, const std::string& where) {
  if (!path.empty()) {
    for (const Candidate& candidate : candidates)
      if (candidate.name() == path) return *candidate.dict;
    fail("%s: has no dictionary of tensors at %s; there are: %s", where.c_str(), in_quotes(path).c_str(),
         list(candidates).c_str());
  }
  if (candidates.size() == 1) return *candidates.front().dict;
  for (const std::span<const std::string_view> names :
       {std::span<const std::string_view>(kAveraged), std::span<const std::string_view>(kWeights)}) {
    std::vector<Candidate> named;
    for (const Candidate& candidate : candidates)
      if (candidate.has_one_of(names)) named.push_back(candidate);
    if (named.size() == 1) return *named.front().dict;
    if (named.size() > 1)
      fail("%s: contains several dictionaries of tensors: choose one with --state-dict: %s", where.c_str(),
           list(named).c_str());
  }
  if (candidates.front().path.empty()) return *candidates.front().dict;
  fail("%s: contains several dictionaries of tensors: choose one with --state-dict: %s", where.c_str(),
       list(candidates).c_str());
}

// Prefixes of DataParallel, torch.compile and transformers' TimmWrapper.
void strip_prefixes(std::vector<std::pair<std::string, const PickleValue*>>& tensors) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view prefix : {"module.", "_orig_mod.", "timm_model."}) {
      if (!std::all_of(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first.starts_with(prefix); }))
        continue;
      for (auto& [name, tensor] : tensors) name.erase(0, prefix.size());
      again = true;
    }
  }
}

}  // namespace

bool is_tensor(const PickleValue& value) {
  return value.kind == Kind::Call && value.text.starts_with("torch._utils._rebuild_");
}

std::vector<std::pair<std::string, const PickleValue*>> find_state_dict(const PickleValue& root,
                                                                        const std::string& path,
                                                                        const std::string& where) {
  std::vector<Candidate> candidates;
  std::vector<std::string_view> at;
  std::set<const PickleValue*> seen;
  if (root.kind == Kind::Dict) collect(root, at, seen, candidates);
  if (candidates.empty())
    fail("%s: contains no dictionary of tensors: torch.save(model.state_dict(), \"weights.pth\") writes one",
         where.c_str());
  const PickleValue& dict = choose(candidates, path, where);
  std::vector<std::pair<std::string, const PickleValue*>> tensors;
  for (size_t i = 1; i < dict.items.size(); i += 2)
    if (dict.items[i - 1]->kind == Kind::Text && is_tensor(*dict.items[i]))
      tensors.emplace_back(dict.items[i - 1]->text, dict.items[i]);
  strip_prefixes(tensors);
  return tensors;
}

}  // namespace ferry
