// One line on a terminal that says how far long work has come; nothing where standard error is no terminal.
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

  // Shown once the work has taken half a second, a few times a second.
  void update(int done, int total);
  // Likewise for work in named steps, `fraction` of 1 behind.
  void update(const std::string& step, double fraction);

 private:
  using Clock = std::chrono::steady_clock;

  bool due();

  std::string what_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::milliseconds(500);
};

}  // namespace ferry::cli
