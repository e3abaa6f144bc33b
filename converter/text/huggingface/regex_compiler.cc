#include <algorithm>
#include <unordered_map>

#include "converter/error.h"
#include "converter/text/huggingface/regex.h"
#include "sdk/text/verify_text.h"

namespace ferry::regex {
namespace {

constexpr int kMaxLooks = 4;  // maximum nesting of assertions, as in sdk/text/pattern.cc

std::unique_ptr<fbs::CharacterClassT> class_of(const icu::UnicodeSet& set) {
  auto made = std::make_unique<fbs::CharacterClassT>();
  made->ascii.assign(4, 0);
  for (int32_t i = 0; i < set.getRangeCount(); ++i) {
    const auto first = static_cast<uint32_t>(set.getRangeStart(i)), last = static_cast<uint32_t>(set.getRangeEnd(i));
    for (uint32_t c = first; c <= std::min(last, 127u); ++c) made->ascii[c / 32] |= 1u << c % 32;
    if (last < 128) continue;
    made->ranges.push_back(std::max(first, 128u));
    made->ranges.push_back(last);
  }
  return made;
}

class Compiler {
 public:
  explicit Compiler(const std::string& where) : where_(where), made_(std::make_unique<fbs::PatternT>()) {}

  std::unique_ptr<fbs::PatternT> run(const Node& node) {
    emit(node);
    add(fbs::PatternOp::Match);
    return std::move(made_);
  }

 private:
  unsigned here() const { return static_cast<unsigned>(made_->program.size()); }
  unsigned add(fbs::PatternOp op, unsigned x = 0, unsigned y = 0, bool negated = false) {
    if (here() >= kMaxInstructions)
      fail("%s: a regular expression needs more than %u instructions", where_.c_str(), kMaxInstructions);
    made_->program.emplace_back(op, negated, static_cast<uint16_t>(x), static_cast<uint16_t>(y));
    return here() - 1;
  }
  void set_targets(unsigned pc, unsigned x, unsigned y) {
    const fbs::Instruction& old = made_->program[pc];
    made_->program[pc] = fbs::Instruction(old.op(), old.negated(), static_cast<uint16_t>(x), static_cast<uint16_t>(y));
  }
  unsigned index_of(const SharedSet& set) {
    const auto next = static_cast<unsigned>(made_->classes.size());
    const auto [known, unseen] = indices_.emplace(set.get(), next);
    if (!unseen) return known->second;
    const auto [equal, added] = sets_.emplace(set, next);
    if (added) made_->classes.push_back(class_of(*set));
    return known->second = equal->second;
  }

  void emit(const Node& node) {
    switch (node.kind) {
      case Node::Kind::Set: add(fbs::PatternOp::Class, index_of(node.set)); break;
      case Node::Kind::Sequence:
        for (const Node& part : node.parts) emit(part);
        break;
      case Node::Kind::Choice: emit_choice(node); break;
      case Node::Kind::Repeat: emit_repeat(node); break;
      case Node::Kind::Look: emit_look(node); break;
    }
  }

  void emit_choice(const Node& node) {
    std::vector<unsigned> ends;
    for (size_t i = 0; i + 1 < node.parts.size(); ++i) {
      const unsigned split = add(fbs::PatternOp::Split);
      emit(node.parts[i]);
      ends.push_back(add(fbs::PatternOp::Jump));
      set_targets(split, split + 1, here());
    }
    emit(node.parts.back());
    for (const unsigned end : ends) set_targets(end, here(), 0);
  }

  void prefer(unsigned split, bool greedy, unsigned body, unsigned behind) {
    set_targets(split, greedy ? body : behind, greedy ? behind : body);
  }

  void emit_repeat(const Node& node) {
    const Node& body = node.parts[0];
    const unsigned start = here();
    for (int i = 0; i < node.minimum; ++i) {
      emit(body);
      if (here() == start) return;  // matches the empty text only: no loop
    }
    if (node.maximum < 0) {
      const unsigned split = add(fbs::PatternOp::Split);
      emit(body);
      add(fbs::PatternOp::Jump, split);
      prefer(split, node.greedy, split + 1, here());
    } else {
      std::vector<unsigned> splits;
      for (int i = node.minimum; i < node.maximum; ++i) {
        splits.push_back(add(fbs::PatternOp::Split));
        emit(body);
        if (here() == splits.back() + 1) break;
      }
      for (const unsigned split : splits) prefer(split, node.greedy, split + 1, here());
    }
    if (node.possessive) emit_possessive(node, start);
  }

  // Possessive: no character of the class may follow a run, since the run would have taken it.
  void emit_possessive(const Node& node, unsigned start) {
    const Node* body = &node.parts[0];
    while (body->kind == Node::Kind::Sequence && body->parts.size() == 1) body = &body->parts[0];
    if (body->kind != Node::Kind::Set)
      fail("%s: a regular expression repeats more than one class possessively, which is not supported", where_.c_str());
    const unsigned index = index_of(body->set);
    if (node.maximum < 0) {
      add(fbs::PatternOp::Next, index, 0, true);
      return;
    }
    if (node.minimum != 0 || node.maximum != 1)
      fail("%s: a regular expression counts a possessive repetition, which is not supported", where_.c_str());
    // Followed by the character, or by the end.
    made_->program.resize(start);
    const unsigned split = add(fbs::PatternOp::Split);
    add(fbs::PatternOp::Class, index);
    const unsigned end = add(fbs::PatternOp::Jump);
    set_targets(split, split + 1, here());
    add(fbs::PatternOp::Next, index, 0, true);
    set_targets(end, here(), 0);
  }

  // Number of characters that it matches. Visits every node once.
  unsigned length(const Node& node) const {
    unsigned total = 0;
    switch (node.kind) {
      case Node::Kind::Set: return 1;
      case Node::Kind::Look: return 0;
      case Node::Kind::Sequence:
        for (const Node& part : node.parts) total = bounded(uint64_t{total} + length(part));
        return total;
      case Node::Kind::Choice:
        total = length(node.parts[0]);
        for (size_t i = 1; i < node.parts.size(); ++i)
          if (length(node.parts[i]) != total) vary();
        return total;
      case Node::Kind::Repeat:
        if (node.minimum != node.maximum) vary();
        return bounded(uint64_t{length(node.parts[0])} * static_cast<unsigned>(node.minimum));
    }
    return total;
  }
  unsigned bounded(uint64_t length) const {
    if (length > UINT16_MAX) fail("%s: a regular expression has a lookbehind of more than 65535", where_.c_str());
    return static_cast<unsigned>(length);
  }
  [[noreturn]] void vary() const {
    fail("%s: a regular expression has a lookbehind of variable length, which is not supported", where_.c_str());
  }

  void emit_look(const Node& node) {
    const Node* body = &node.parts[0];
    while (body->kind == Node::Kind::Sequence && body->parts.size() == 1) body = &body->parts[0];
    if (body->kind == Node::Kind::Set) {
      add(node.behind ? fbs::PatternOp::Before : fbs::PatternOp::Next, index_of(body->set), 0, node.negated);
      return;
    }
    if (node.behind && body->kind == Node::Kind::Choice) {
      // Lookbehind of alternatives with different lengths: any of them, or none.
      Node each(node.negated ? Node::Kind::Sequence : Node::Kind::Choice);
      for (const Node& part : body->parts) {
        Node one(Node::Kind::Look);
        one.behind = true;
        one.negated = node.negated;
        one.parts = {part};
        each.parts.push_back(std::move(one));
      }
      return emit(each);
    }
    if (++looks_ > kMaxLooks)
      fail("%s: a regular expression has more than %d assertions inside one another", where_.c_str(), kMaxLooks);
    const unsigned back = node.behind ? length(*body) : 0;
    const unsigned look = add(fbs::PatternOp::Look, 0, back, node.negated);
    const unsigned jump = add(fbs::PatternOp::Jump);
    set_targets(look, here(), back);
    emit(*body);
    add(fbs::PatternOp::Match);
    set_targets(jump, here(), 0);
    --looks_;
  }

  const std::string& where_;
  std::unique_ptr<fbs::PatternT> made_;
  struct Hash {
    size_t operator()(const SharedSet& set) const { return static_cast<size_t>(set->hashCode()); }
  };
  struct Equal {
    bool operator()(const SharedSet& a, const SharedSet& b) const { return *a == *b; }
  };
  std::unordered_map<const icu::UnicodeSet*, unsigned> indices_;  // of sets seen before, which the nodes hold
  std::unordered_map<SharedSet, unsigned, Hash, Equal> sets_;
  int looks_ = 0;
};

}  // namespace

std::unique_ptr<fbs::PatternT> compile(const Node& node, const std::string& where) { return Compiler(where).run(node); }

}  // namespace ferry::regex

namespace ferry {

std::unique_ptr<fbs::PatternT> compile_regex(std::string_view expression, const std::string& where) {
  return regex::compile(regex::parse(expression, where), where);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c)) && c != '\n') out += '\\';
    out += c;
  }
  return out;
}

std::unique_ptr<fbs::CharacterClassT> compile_class(std::string_view set, const std::string& where) {
  return std::move(compile_regex(set, where)->classes.at(0));
}

}  // namespace ferry
