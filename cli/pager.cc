#include "cli/pager.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/print.h"

namespace ferry::cli {
namespace {

bool fits_screen(const std::string& text) {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return true;
  return std::count(text.begin(), text.end(), '\n') < size.ws_row;
}

}  // namespace

void print_paged(const std::string& text) {
  FILE* pager = nullptr;
  if (!fits_screen(text)) {
    const char* own = std::getenv("PAGER");
    const bool named = own != nullptr && *own != '\0';
    std::signal(SIGPIPE, SIG_IGN);  // a reader who has seen enough ends the pager
    pager = popen(named ? own : "if command -v less >/dev/null; then exec less -FRX; else exec cat; fi", "w");
  }
  print_text(text, pager != nullptr ? pager : stdout);
  if (pager != nullptr) pclose(pager);
}

}  // namespace ferry::cli
