#include "cli/text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <numeric>

namespace ferry::cli {
namespace {

std::string format(const char* pattern, double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value, unit);
  return text;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The Levenshtein distance.
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

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1000) return std::to_string(bytes) + " B";
  const auto value = static_cast<double>(bytes);
  if (value < 1e6) return format("%.1f %s", value / 1e3, "KB");
  if (value < 1e9) return format("%.1f %s", value / 1e6, "MB");
  return format("%.2f %s", value / 1e9, "GB");
}

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string scaled(double number) {
  if (number >= 1e9) return format("%.2f %s", number / 1e9, "G");
  if (number >= 1e6) return format("%.1f %s", number / 1e6, "M");
  if (number >= 1e3) return format("%.1f %s", number / 1e3, "K");
  return format("%.0f%s", number, "");
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (int64_t d : shape) text += (text.size() > 1 ? "," : "") + std::to_string(d);
  return text + "]";
}

std::string join(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string wanted = lower(word);
  std::string best;
  // A third of the letters may be wrong. A name that contains `word` is similar, too; the shortest one first.
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

}  // namespace ferry::cli
