// Helpers that the report pages and the plot share.
#pragma once

#include <cstdio>
#include <string>

namespace ferry::parity {

// Escapes text and attribute values for HTML and SVG.
inline std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// snprintf into a std::string.
template <typename... Args>
std::string format(const char* pattern, Args... args) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

}  // namespace ferry::parity
