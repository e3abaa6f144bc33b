// Helpers that the report pages and the plot share.
#pragma once

#include <cstdio>
#include <string>

#include "sdk/printable.h"

namespace ferry::parity {

// Text and attribute values for HTML and SVG: one line of valid characters, with those of markup escaped.
inline std::string escaped(const std::string& text) {
  std::string out;
  for (char c : printable(text)) {
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
