// Long output, a screen at a time.
#pragma once

#include <string>

namespace ferry::cli {

// Prints `text` to standard output. On a terminal with fewer lines it goes through $PAGER, or `less` if installed.
void print_paged(const std::string& text);

}  // namespace ferry::cli
