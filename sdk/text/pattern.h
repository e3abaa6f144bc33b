// Matches regular expressions that the converter compiled (fbs::Pattern). All branches advance together, character by
// character, so that a search takes at most (instructions x bytes) steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/text/utf8.h"
#include "text_generated.h"

namespace ferry {

bool contains(const fbs::CharacterClass& set, Character character);

// Work that remains to one call: steps of its searches, which are linear one by one but not together, and bytes that
// its normalizer, pre-tokenizer or decoder writes.
struct Budget {
  int64_t steps;

  // For an encoding of a text of that size: some twenty times what common tokenizers need.
  static Budget for_text(size_t bytes) { return {(int64_t{1} << 22) + 512 * static_cast<int64_t>(bytes)}; }

  bool exhausted() const { return steps < 0; }
  // False: the budget is exhausted.
  bool take(size_t count) {
    if (steps >= 0) steps = count <= static_cast<uint64_t>(steps) ? steps - static_cast<int64_t>(count) : -1;
    return steps >= 0;
  }
  // Appends `bytes`, if that many may still be written.
  bool write(std::string_view bytes, std::string* out) {
    if (bytes.size() > kMaxWritten - std::min(kMaxWritten, out->size())) steps = -1;
    if (!take(bytes.size())) return false;
    *out += bytes;
    return true;
  }
  static constexpr size_t kMaxWritten = size_t{1} << 28;  // by one step
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
