// Strings at which a text ends. What may be the beginning of one is held back until that is known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ferry {

class StopWords {
 public:
  StopWords() = default;
  // Empty words are left out.
  explicit StopWords(const std::vector<std::string>& words);

  // Takes what follows of the text and adds to `out` what certainly stands before every word. True where a word is
  // complete: nothing of it or behind it is in `out`.
  bool append(std::string_view text, std::string* out);
  // What is held back now, and the same in another one's place.
  const std::string& held() const { return held_; }
  void hold(std::string held) { held_ = std::move(held); }
  // The text ends, or goes on with what is not watched: gives what was held back.
  void finish(std::string* out);

 private:
  std::vector<std::string> words_;
  std::string held_;
};

}  // namespace ferry
