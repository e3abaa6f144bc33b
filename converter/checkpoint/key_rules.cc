#include <optional>
#include <regex>
#include <set>

#include "converter/checkpoint/json.h"
#include "converter/checkpoint/keys.h"
#include "converter/error.h"

namespace ferry {
namespace {

using Tensors = std::map<std::string, CheckpointTensor>;

// Bounds of std::regex, whose matcher recurses once per character.
constexpr size_t kMaxExpression = 1000, kMaxKey = 1000;

class Renamed final : public Checkpoint {
 public:
  Renamed(std::shared_ptr<const Checkpoint> checkpoint, Tensors tensors, std::vector<std::string> notes)
      : checkpoint_(std::move(checkpoint)), tensors_(std::move(tensors)), notes_(checkpoint_->notes()) {
    notes_.insert(notes_.end(), notes.begin(), notes.end());
  }

  const Tensors& tensors() const override { return tensors_; }
  const char* format() const override { return checkpoint_->format(); }
  std::string sha256() const override { return checkpoint_->sha256(); }
  const std::filesystem::path& path() const override { return checkpoint_->path(); }
  std::vector<File> files() const override { return checkpoint_->files(); }
  void forget(std::span<const std::byte> bytes) const override { checkpoint_->forget(bytes); }
  std::span<const std::byte> fetch(std::span<const std::byte> bytes, std::vector<std::byte>* buffer) const override {
    return checkpoint_->fetch(bytes, buffer);
  }
  std::vector<std::string> notes() const override { return notes_; }
  Companions companions() const override { return checkpoint_->companions(); }

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  Tensors tensors_;
  std::vector<std::string> notes_;
};

std::regex compiled(const std::string& option, const std::string& value, const std::string& expression) {
  if (expression.empty() || expression.size() > kMaxExpression)
    fail("--%s %s: expected a regular expression of 1 to %zu characters", option.c_str(), in_quotes(value).c_str(),
         kMaxExpression);
  try {
    return std::regex(expression);
  } catch (const std::regex_error& error) {
    fail("--%s %s: is no regular expression: %s", option.c_str(), in_quotes(value).c_str(), error.what());
  }
}

struct Rule {
  std::string text;  // the option and its value, for messages
  std::regex expression;
  std::optional<std::string> replacement;  // none: ignore
};

std::vector<Rule> compiled(const KeyRules& rules) {
  std::vector<Rule> out;
  for (const std::string& value : rules.ignore)
    out.push_back({"--ignore-keys " + value, compiled("ignore-keys", value, value), {}});
  for (const std::string& value : rules.rename) {
    const size_t equals = value.rfind('=');  // names have no "=", but expressions may
    if (equals == value.npos)
      fail("--rename-keys %s: expected OLD=NEW, a regular expression and what replaces it", in_quotes(value).c_str());
    out.push_back(
        {"--rename-keys " + value, compiled("rename-keys", value, value.substr(0, equals)), value.substr(equals + 1)});
  }
  return out;
}

// Applies one rule. Returns its note.
std::string apply(const Rule& rule, Tensors* tensors) try {
  Tensors out;
  std::map<std::string, std::string> origins;
  std::string example;
  size_t count = 0;
  for (auto& [key, tensor] : *tensors) {
    if (key.size() > kMaxKey)
      fail("%s: the key %s is longer than %zu characters", rule.text.c_str(), in_quotes(key).c_str(), kMaxKey);
    std::string name = key;
    if (std::regex_search(key, rule.expression)) {
      ++count;
      if (rule.replacement) name = std::regex_replace(key, rule.expression, *rule.replacement);
      if (example.empty()) example = "'" + key + "'" + (rule.replacement ? " to '" + name + "'" : "");
      if (!rule.replacement) continue;
    }
    if (const auto [known, added] = origins.emplace(name, key); !added)
      fail("%s: would rename %s and %s to %s", rule.text.c_str(), in_quotes(known->second).c_str(),
           in_quotes(key).c_str(), in_quotes(name).c_str());
    out.emplace(std::move(name), std::move(tensor));
  }
  if (count == 0) fail("%s: matches no key of the checkpoint", rule.text.c_str());
  *tensors = std::move(out);
  const std::string keys = std::to_string(count) + (count == 1 ? " key" : " keys");
  return rule.text + (rule.replacement ? " renames " : " leaves out ") + keys + ", for example " + example;
} catch (const std::regex_error& error) {
  fail("%s: %s", rule.text.c_str(), error.what());  // too complex
}

}  // namespace

std::shared_ptr<const Checkpoint> with_tensors(std::shared_ptr<const Checkpoint> checkpoint, Tensors tensors,
                                               std::vector<std::string> notes) {
  return std::make_shared<Renamed>(std::move(checkpoint), std::move(tensors), std::move(notes));
}

Tensors tensors_under(Tensors tensors, const std::string& prefix, const std::string& where) {
  Tensors out;
  std::set<std::string> first;
  for (auto& [key, tensor] : tensors) {
    bool same = key.size() > prefix.size() && (key[prefix.size()] == '.' || key[prefix.size()] == '/');
    const auto plain = [](char c) { return c == '/' ? '.' : c; };
    for (size_t i = 0; same && i < prefix.size(); ++i) same = plain(key[i]) == plain(prefix[i]);
    first.insert(key.substr(0, key.find_first_of("./")));
    if (same) out.emplace(key, std::move(tensor));
  }
  if (!out.empty()) return out;
  std::string names;
  size_t listed = 0;
  for (const std::string& name : first)
    if (++listed <= 8) names += (names.empty() ? "" : ", ") + in_quotes(name);
  fail("%s: has no keys under %s; there are: %s%s", where.c_str(), in_quotes(prefix).c_str(), names.c_str(),
       listed > 8 ? "..." : "");
}

void check_key_rules(const KeyRules& rules) { compiled(rules); }

std::shared_ptr<const Checkpoint> with_key_rules(std::shared_ptr<const Checkpoint> checkpoint, const KeyRules& rules) {
  if (rules.ignore.empty() && rules.rename.empty()) return checkpoint;
  Tensors tensors = checkpoint->tensors();
  std::vector<std::string> notes;
  for (const Rule& rule : compiled(rules)) notes.push_back(apply(rule, &tensors));
  return with_tensors(std::move(checkpoint), std::move(tensors), std::move(notes));
}

}  // namespace ferry
