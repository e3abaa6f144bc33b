// Detects stop strings in generated text. Characters that may begin one are held back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ferry {

class StopWords {
 public:
  StopWords() = default;
  // Empty words are ignored.
  explicit StopWords(const std::vector<std::string>& words);

  // Adds generated text, and appends to `out` what certainly precedes every word. True if a word is complete; `out`
  // then ends before it.
  bool append(std::string_view text, std::string* out);
  // The characters held back, and a function that restores them.
  const std::string& held() const { return held_; }
  void hold(std::string held) { held_ = std::move(held); }
  // The text ends without a stop string: appends the characters held back.
  void finish(std::string* out);

 private:
  std::vector<std::string> words_;
  std::string held_;
};

}  // namespace ferry
