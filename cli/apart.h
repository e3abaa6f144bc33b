// Work in a separate process, so that its peak memory is measured alone and a crash does not end this process.
#pragma once

#include <functional>
#include <string>

namespace ferry::cli {

struct Apart {
  std::string out;      // its standard output
  std::string problem;  // the message of the Error that it threw, or how the process ended; "" on success
};

// Runs `work` in a copy of this process, which should have no other threads.
Apart run_apart(const std::function<void()>& work);

}  // namespace ferry::cli
