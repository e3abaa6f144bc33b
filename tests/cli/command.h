// Runs the built `ferry`, or an example, like users do: as a process, with exit code and both outputs.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry::cli_test {

struct Result {
  int exit_code = -1;
  std::string out, err;
};

inline std::string quoted(const std::string& word) {
  std::string text = "'";
  for (char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

// Runs in `folder` with these arguments and this standard input.
inline Result run_program(const std::string& program, const std::filesystem::path& folder,
                          const std::vector<std::string>& arguments, const std::string& input = "") {
  const ScratchFolder capture;
  const auto out = capture.path() / "out", err = capture.path() / "err";
  capture.write("in", input);
  // Its cache is inside the test's folder.
  std::string line = "cd " + quoted(folder) + " && XDG_CACHE_HOME=" + quoted(folder / "cache") + " " + FERRY_EMULATOR +
                     " " + quoted(program);
  for (const std::string& a : arguments) line += " " + quoted(a);
  line += " >" + quoted(out) + " 2>" + quoted(err) + " <" + quoted(capture.path() / "in");
  const int status = std::system(line.c_str());
  const Result result{WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text(out), read_text(err)};
  // The Vulkan validation layer writes to standard output, which ctest does not check here.
  EXPECT_EQ(result.out.find("Validation "), std::string::npos) << result.out;
  return result;
}

inline Result ferry(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                    const std::string& input = "") {
  return run_program(ferry_command(), folder, arguments, input);
}

inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> list;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    list.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return list;
}

}  // namespace ferry::cli_test

// Bad usage or input: exit code 2, nothing on standard output, one line on standard error that contains `words`.
#define EXPECT_REFUSED(result, words)                                           \
  do {                                                                          \
    const ::ferry::cli_test::Result& refused = (result);                        \
    EXPECT_EQ(refused.exit_code, 2) << refused.out << refused.err;              \
    EXPECT_EQ(refused.out, "");                                                 \
    EXPECT_EQ(::ferry::cli_test::lines(refused.err).size(), 1u) << refused.err; \
    EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;       \
  } while (false)
