#include "cli/chat/thinking.h"

#include <algorithm>

namespace ferry::cli {
namespace {

struct Marks {
  std::string_view begin;
  const char* end;  // null: what follows is the answer
  bool control;     // made of control tokens
};
constexpr Marks kMarks[] = {
    {"<think>", "</think>", false},                       // DeepSeek, Qwen, SmolLM
    {"<thinking>", "</thinking>", false},                 //
    {"<seed:think>", "</seed:think>", false},             // Seed-OSS
    {"[THINK]", "[/THINK]", false},                       // Magistral
    {"<|START_THINKING|>", "<|END_THINKING|>", false},    // Command
    {"<|channel|>analysis<|message|>", "<|end|>", true},  // GPT-OSS, as the following
    {"<|start|>assistant<|channel|>analysis<|message|>", "<|end|>", true},
    {"<|start|>assistant<|channel|>final<|message|>", nullptr, true},
    {"<|channel|>final<|message|>", nullptr, true},
};
constexpr std::string_view kSpaces = " \t\r\n";

std::string_view without_spaces_behind(std::string_view text) {
  const size_t last = text.find_last_not_of(kSpaces);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Whether a control token is part of a mark.
bool in_marks(std::string_view token) {
  return std::any_of(std::begin(kMarks), std::end(kMarks), [&](const Marks& m) {
    return m.begin.find(token) != std::string_view::npos || (m.end != nullptr && token == m.end);
  });
}

// Length of the longest end of `text` that begins `mark`.
size_t overlap(std::string_view text, std::string_view mark) {
  for (size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n)
    if (mark.starts_with(text.substr(text.size() - n))) return n;
  return 0;
}

}  // namespace

Thinking::Thinking(std::string_view prompt) {
  for (const Marks& marks : kMarks)
    if (marks.end != nullptr && without_spaces_behind(prompt).ends_with(marks.begin)) {
      end_ = marks.end;
      apart_ = marks.control;
      return;
    }
}

std::vector<Thinking::Part> Thinking::append(std::string_view piece, bool control) {
  if (!control || in_marks(piece)) pending_ += piece;
  std::vector<Part> parts;
  read(&parts, false);
  return parts;
}

std::vector<Thinking::Part> Thinking::finish() {
  std::vector<Part> parts;
  read(&parts, true);
  return parts;
}

void Thinking::emit(std::vector<Part>* parts, bool thought, std::string_view text) {
  if (text.empty()) return;
  (thought ? thoughts_ : answer_) += text;
  begun_ |= !thought && text.find_first_not_of(kSpaces) != std::string_view::npos;
  if (!parts->empty() && parts->back().thought == thought)
    parts->back().text += text;
  else
    parts->push_back({thought, std::string(text)});
}

void Thinking::read(std::vector<Part>* parts, bool ended) {
  while (!pending_.empty()) {
    if (end_ != nullptr) {
      const size_t end = pending_.find(end_);
      if (end == std::string::npos) {
        const size_t held = ended ? 0 : overlap(pending_, end_);
        emit(parts, true, std::string_view(pending_).substr(0, pending_.size() - held));
        pending_.erase(0, pending_.size() - held);
        return;
      }
      const size_t shown = apart_ ? end : end + std::string_view(end_).size();
      emit(parts, true, std::string_view(pending_).substr(0, shown));
      pending_.erase(0, end + std::string_view(end_).size());
      end_ = nullptr;
      continue;
    }
    // A mark counts before the answer only: an answer may be about marks.
    const size_t first = std::min(pending_.find_first_not_of(kSpaces), pending_.size());
    const std::string_view rest = std::string_view(pending_).substr(first);
    const Marks* found = nullptr;
    bool may_follow = false;
    for (const Marks& marks : kMarks) {
      if (begun_) break;
      if (rest.starts_with(marks.begin)) found = &marks;
      may_follow |= marks.begin.starts_with(rest);
    }
    if (found != nullptr) {
      emit(parts, true, std::string_view(pending_).substr(0, found->control ? 0 : first + found->begin.size()));
      pending_.erase(0, first + found->begin.size());
      end_ = found->end;
      apart_ |= found->control;
      begun_ = found->end == nullptr;
      continue;
    }
    if (may_follow && !ended) return;
    emit(parts, false, pending_);
    pending_.clear();
  }
}

}  // namespace ferry::cli
