// A progress line on standard error; printed only on a terminal.
#pragma once

#include <chrono>
#include <string>

namespace ferry::cli {

class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ~ProgressLine();  // clears the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Printed after half a second of work, then a few times per second.
  void update(int done, int total);
  // The same for named steps; `fraction` from 0 to 1 of all steps is done. Estimates the rest at the current step's
  // rate.
  void update(const std::string& step, double fraction);

 private:
  using Clock = std::chrono::steady_clock;

  bool due();

  std::string what_;
  bool terminal_;
  bool shown_ = false;
  std::string step_;
  Clock::time_point step_start_;
  double step_fraction_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::milliseconds(500);
};

}  // namespace ferry::cli
