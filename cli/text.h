// Formatting of numbers and words for printing.
#pragma once

#include <ferry/ferry.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "converter/suggest.h"

namespace ferry::cli {

// "812 B", "14.0 MB": decimal units, as disks and phones count.
std::string bytes_text(uint64_t bytes);
// "3,504,872"
std::string grouped(uint64_t number);
// "300.8 M", "4.1 G"
std::string scaled(double number);
// "[1,3,224,224]"
std::string shape_text(std::span<const int64_t> shape);
std::string join(const std::vector<std::string>& words, const char* separator);

}  // namespace ferry::cli
