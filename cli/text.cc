#include "cli/text.h"

#include <cstdio>

namespace ferry::cli {
namespace {

std::string format(const char* pattern, double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value, unit);
  return text;
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

}  // namespace ferry::cli
