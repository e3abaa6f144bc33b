#include "sdk/text/pattern.h"

#include <algorithm>

namespace ferry {
namespace {

// Maximum nesting of assertions; the converter refuses more.
constexpr int kMaxAssertions = 4;

}  // namespace

bool contains(const fbs::CharacterClass& set, Character character) {
  if (character < 0) return false;
  const auto c = static_cast<uint32_t>(character);
  if (c < 128) return set.ascii()->Get(c / 32) >> c % 32 & 1;
  if (!set.ranges()) return false;
  const flatbuffers::Vector<uint32_t>& ranges = *set.ranges();
  uint32_t low = 0, high = ranges.size() / 2;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (c < ranges.Get(2 * middle))
      high = middle;
    else if (c > ranges.Get(2 * middle + 1))
      low = middle + 1;
    else
      return true;
  }
  return false;
}

Matcher::Matcher(const fbs::Pattern& pattern, Budget& budget, int depth)
    : pattern_(pattern), budget_(budget), depth_(depth), seen_(pattern.program()->size()) {}

bool Matcher::find(std::string_view text, size_t from, Match* match) { return run(text, from, 0, true, match); }

// Whether an assertion holds at `at`.
bool Matcher::holds(const fbs::Instruction& instruction, std::string_view text, size_t at) {
  switch (instruction.op()) {
    case fbs::PatternOp::Next: return contains(*pattern_.classes()->Get(instruction.x()), after_);
    case fbs::PatternOp::Before: return contains(*pattern_.classes()->Get(instruction.x()), before_);
    default: break;
  }
  for (int back = instruction.y(); back > 0; --back) {
    if (at == 0) return false;
    at -= bytes_before(text, at);
  }
  budget_.steps -= static_cast<int64_t>(seen_.size());  // the inner matcher clears a table of this size
  Match ignored;
  return depth_ < kMaxAssertions && budget_.steps > 0 &&
         Matcher(pattern_, budget_, depth_ + 1).run(text, at, instruction.x(), false, &ignored);
}

// Adds the instruction and all instructions reachable without consuming a character, in order of preference.
void Matcher::add(unsigned entry, size_t begin, std::string_view text, size_t at) {
  pending_.assign(1, static_cast<uint16_t>(entry));
  while (!pending_.empty()) {
    const unsigned pc = pending_.back();
    pending_.pop_back();
    if (seen_[pc] == round_) continue;
    seen_[pc] = round_;
    --budget_.steps;
    const fbs::Instruction& instruction = *pattern_.program()->Get(pc);
    switch (instruction.op()) {
      case fbs::PatternOp::Match:
      case fbs::PatternOp::Class: next_.push_back({static_cast<uint16_t>(pc), begin}); break;
      case fbs::PatternOp::Split: pending_.push_back(instruction.y()); [[fallthrough]];
      case fbs::PatternOp::Jump: pending_.push_back(instruction.x()); break;
      case fbs::PatternOp::Next:
      case fbs::PatternOp::Before:
      case fbs::PatternOp::Look:
        if (holds(instruction, text, at) != instruction.negated()) pending_.push_back(static_cast<uint16_t>(pc + 1));
        break;
    }
  }
}

// Matches from `entry`, at `from` or, if `anywhere`, at any later position.
bool Matcher::run(std::string_view text, size_t from, unsigned entry, bool anywhere, Match* match) {
  bool found = false;
  size_t bytes = 0, following = 0;
  before_ = from > 0 ? character_at(text.substr(0, from), from - bytes_before(text, from), &bytes) : kNoCharacter;
  after_ = character_at(text, from, &bytes);
  next_.clear();
  ++round_;
  add(entry, from, text, from);
  for (size_t at = from;; at += bytes, bytes = following) {
    std::swap(threads_, next_);
    if (threads_.empty() && (found || !anywhere)) break;
    if (budget_.steps < 0) return false;
    const Character taken = after_;
    next_.clear();
    ++round_;
    before_ = taken;
    after_ = character_at(text, at + bytes, &following);
    for (const Thread& thread : threads_) {
      const fbs::Instruction& instruction = *pattern_.program()->Get(thread.pc);
      if (instruction.op() == fbs::PatternOp::Match) {
        *match = {thread.begin, at};
        found = true;
        break;  // later threads have lower preference
      }
      if (contains(*pattern_.classes()->Get(instruction.x()), taken))
        add(thread.pc + 1u, thread.begin, text, at + bytes);
    }
    if (taken == kNoCharacter) break;  // end of the text
    if (anywhere && !found) add(entry, at + bytes, text, at + bytes);
  }
  return found;
}

bool Matches::next(Matcher::Match* match) {
  for (;;) {
    if (from_ > text_.size() || !matcher_.find(text_, from_, match)) return false;
    const bool repeated = any_ && match->begin == match->end && match->end == last_end_;
    from_ = match->end;
    if (!repeated) {
      any_ = true;
      last_end_ = match->end;
      return true;
    }
    size_t bytes = 0;
    character_at(text_, from_, &bytes);
    from_ += bytes > 0 ? bytes : 1;
  }
}

}  // namespace ferry
