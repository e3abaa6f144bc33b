#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

#include "cli/print.h"

namespace ferry::cli {

ProgressLine::ProgressLine(std::string what) : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  if (shown_) print_error("\r\033[K");
}

bool ProgressLine::due() {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now < next_) return false;
  next_ = now + std::chrono::milliseconds(200);
  shown_ = true;
  return true;
}

void ProgressLine::update(int done, int total) {
  if (total < 1 || !due()) return;
  print_error("\r\033[K%s: %d of %d", what_.c_str(), done, total);
  if (done > 0 && done < total) {
    const double spent = std::chrono::duration<double>(Clock::now() - start_).count();
    print_error(", %.0f s left", spent * (total - done) / done);
  }
  std::fflush(stderr);
}

void ProgressLine::update(const std::string& step, double fraction) {
  if (step != step_) {
    step_ = step;
    step_start_ = Clock::now();
    step_fraction_ = fraction;
  }
  if (!due()) return;
  print_error("\r\033[K%s: %s (%.0f %%)", what_.c_str(), step.c_str(), 100 * fraction);
  // At the rate of this step.
  const double spent = std::chrono::duration<double>(Clock::now() - step_start_).count();
  const double done = fraction - step_fraction_;
  if (spent >= 1 && done >= 0.01) print_error(", %.0f s left", spent * (1 - fraction) / done);
  std::fflush(stderr);
}

}  // namespace ferry::cli
