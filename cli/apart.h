// Work in a process of its own: its peak of memory is its own, and so is its end.
#pragma once

#include <functional>
#include <string>

namespace ferry::cli {

struct Apart {
  std::string out;      // what it wrote to standard output
  std::string problem;  // one sentence: the Error that it threw, or how it ended; "" where it ended well
};

// Runs `work` in a copy of this process, which should have no other threads.
Apart run_apart(const std::function<void()>& work);

}  // namespace ferry::cli
