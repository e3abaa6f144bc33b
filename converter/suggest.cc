#include "converter/suggest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace ferry {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Levenshtein distance.
size_t distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string wanted = lower(word);
  std::string best;
  // Up to a third of the letters may differ. Otherwise: the shortest candidate that contains `word`.
  size_t best_distance = std::max<size_t>(1, wanted.size() / 3) + 1;
  std::string containing;
  for (const std::string& candidate : candidates) {
    const std::string known = lower(candidate);
    const size_t d = distance(wanted, known);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
    const bool part = wanted.size() >= 3 && known.find(wanted) != std::string::npos;
    if (part && (containing.empty() || candidate.size() < containing.size())) containing = candidate;
  }
  return best.empty() ? containing : best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : " (did you mean " + near + "?)";
}

}  // namespace ferry
