// SPDX-License-Identifier: Apache-2.0
// camera-linux - runs any blob on a camera's frames: see --help, and docs/embedded-linux.md.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "run.h"

namespace {

// SIGINT and SIGTERM request the end; a second one ends at once. All other threads block them.
void watch_signals(const sigset_t& signals, std::stop_source end, std::stop_token done) {
  constexpr timespec kSlice = {0, 100'000'000};
  while (!done.stop_requested()) {
    if (sigtimedwait(&signals, nullptr, &kSlice) < 0) continue;
    if (end.stop_requested()) _exit(130);
    end.request_stop();
  }
}

}  // namespace

int main(int argc, char** argv) {
  ferry::Result<camera::Options> options = camera::read_options(argc, argv);
  if (!options) {
    std::fprintf(stderr, "camera-linux: %s\n", options.error().c_str());
    return 2;
  }
  if (options->help) {
    std::fputs(camera::help_text(), stdout);
    return 0;
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // a closed reader becomes an error of fflush()
  std::stop_source end;
  const std::jthread watcher([&](std::stop_token done) { watch_signals(signals, end, std::move(done)); });
  return camera::run(*options, end.get_token(), stdout, stderr);
}
