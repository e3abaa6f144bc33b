// Matches regular expressions that the converter compiled (fbs::Pattern). All branches advance together, character by
// character, so that a search takes at most (instructions x bytes) steps.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sdk/text/utf8.h"
#include "text_generated.h"

namespace ferry {

bool contains(const fbs::CharacterClass& set, Character character);

// Maximum steps of all searches in one call: each search is linear, but many that read to the end are not.
struct Budget {
  int64_t steps;
};

class Matcher {
 public:
  // Both must outlive it; `pattern` has been verified.
  Matcher(const fbs::Pattern& pattern, Budget& budget) : Matcher(pattern, budget, 0) {}

  struct Match {
    size_t begin, end;
  };
  // The leftmost match in `text` from `from` on. False: there is none, or the budget is exhausted.
  bool find(std::string_view text, size_t from, Match* match);

 private:
  Matcher(const fbs::Pattern& pattern, Budget& budget, int depth);

  struct Thread {
    uint16_t pc;
    size_t begin;
  };
  bool run(std::string_view text, size_t from, unsigned entry, bool anywhere, Match* match);
  void add(unsigned pc, size_t begin, std::string_view text, size_t at);
  bool holds(const fbs::Instruction& instruction, std::string_view text, size_t at);

  const fbs::Pattern& pattern_;
  Budget& budget_;
  int depth_;
  std::vector<Thread> threads_, next_;  // in order of preference
  std::vector<uint32_t> seen_;          // per instruction: the round in which it was last added
  uint32_t round_ = 0;
  std::vector<uint16_t> pending_;
  Character before_ = kNoCharacter, after_ = kNoCharacter;  // characters around the position at which threads are added
};

// All matches in a text, one after another, with Oniguruma's rule for empty ones: an empty match directly after another
// is skipped.
class Matches {
 public:
  Matches(Matcher& matcher, std::string_view text) : matcher_(matcher), text_(text) {}
  bool next(Matcher::Match* match);

 private:
  Matcher& matcher_;
  std::string_view text_;
  size_t from_ = 0;
  bool any_ = false;
  size_t last_end_ = 0;
};

}  // namespace ferry
