// The steps of a tokenizer's normalizer and pre-tokenizer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sdk/text/pattern.h"

namespace ferry {

// Bytes, divided into stretches in order; bytes between stretches are no longer part of the text.
struct Stretches {
  struct Stretch {
    size_t begin, end;
  };
  explicit Stretches(std::string text) : bytes(std::move(text)) {
    if (!bytes.empty()) list.push_back({0, bytes.size()});
  }
  std::string_view operator[](size_t i) const {
    return std::string_view(bytes).substr(list[i].begin, list[i].end - list[i].begin);
  }

  std::string bytes;
  std::vector<Stretch> list;  // none is empty
};

class Steps {
 public:
  using List = flatbuffers::Vector<flatbuffers::Offset<fbs::Step>>;
  // Both must outlive it; `list` may be null and has been verified.
  Steps(const List* list, Budget& budget);

  // `at_beginning`: the first stretch begins the text; `goes_on`: that text continues an earlier one. If the budget is
  // exhausted, the text is incomplete.
  void apply(Stretches* text, bool at_beginning, bool goes_on);

 private:
  void cut(const fbs::Cut& step, Matcher& matcher, Stretches* text);
  void order(const fbs::Order& step, std::string_view text, std::string* out);

  void replace(const fbs::Replace& step, Matcher& matcher, std::string_view text, std::string* out);
  int64_t find_key(const fbs::Map& map, std::string_view text, bool shortest, size_t* bytes);
  void map_longest(const fbs::Map& map, std::string_view text, std::string* out);
  void map_clusters(const fbs::Map& map, Matcher& matcher, std::string_view text, std::string* out);

  const List* list_;
  Budget& budget_;
  std::vector<std::unique_ptr<Matcher>> matchers_;  // per step; null: it has no pattern
  std::vector<Character> characters_;
};

}  // namespace ferry
