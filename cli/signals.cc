#include "cli/signals.h"

#include <signal.h>

#include "sdk/files/temporaries.h"

namespace ferry::cli {
namespace {

// SA_RESETHAND has restored the default action.
void end_without_leftovers(int number) {
  remove_temporaries();
  raise(number);
}

}  // namespace

void remove_temporaries_on_signals() {
  signal(SIGXFSZ, SIG_IGN);
  struct sigaction ending = {};
  ending.sa_handler = end_without_leftovers;
  ending.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2, SIGABRT,
                           SIGBUS, SIGFPE, SIGILL, SIGSEGV}) {
    struct sigaction now;
    const bool ends = sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
    if (ends) sigaction(number, &ending, nullptr);
  }
}

}  // namespace ferry::cli
