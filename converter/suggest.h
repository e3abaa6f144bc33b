// Suggestions for a mistyped name.
#pragma once

#include <string>
#include <vector>

namespace ferry {

// The candidate most similar to `word`; "" if none is similar.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);
// " (did you mean mobilenetv2_100?)", or "".
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace ferry
