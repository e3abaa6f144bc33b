#include "sdk/text/stop_words.h"

#include <algorithm>

namespace ferry {

StopWords::StopWords(const std::vector<std::string>& words) {
  std::copy_if(words.begin(), words.end(), std::back_inserter(words_), [](const std::string& w) { return !w.empty(); });
}

bool StopWords::append(std::string_view text, std::string* out) {
  held_ += text;
  size_t first = std::string::npos;
  for (const std::string& word : words_) first = std::min(first, held_.find(word));
  if (first != std::string::npos) {
    out->append(held_, 0, first);
    held_.clear();
    return true;
  }
  size_t kept = 0;  // bytes at the end that begin some word
  for (const std::string& word : words_) {
    size_t length = std::min(word.size() - 1, held_.size());
    while (length > kept && !held_.ends_with(std::string_view(word).substr(0, length))) --length;
    kept = std::max(kept, length);
  }
  out->append(held_, 0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
  return false;
}

void StopWords::finish(std::string* out) {
  *out += held_;
  held_.clear();
}

}  // namespace ferry
