#include "cli/apart.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "converter/error.h"

namespace ferry::cli {
namespace {

// A pipe; both ends are closed by the destructor.
struct Pipe {
  Pipe() {
    if (pipe(ends) != 0) fail("no pipe can be opened: %s", std::strerror(errno));
  }
  ~Pipe() {
    shut(0);
    shut(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void shut(int end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }

  int ends[2];
};

std::string read_all(int from) {
  std::string out;
  char part[4096];
  for (;;) {
    const ssize_t count = read(from, part, sizeof part);
    if (count > 0) out.append(part, static_cast<size_t>(count));
    if (count == 0 || (count < 0 && errno != EINTR)) return out;
  }
}

void write_all(int to, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = write(to, text.data() + at, text.size() - at);
    if (count < 0 && errno != EINTR) return;
    at += count > 0 ? static_cast<size_t>(count) : 0;
  }
}

}  // namespace

Apart run_apart(const std::function<void()>& work) {
  Pipe out, problem;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) fail("no process can be started: %s", std::strerror(errno));
  if (child == 0) {
    dup2(out.ends[1], STDOUT_FILENO);
    out.shut(0);
    out.shut(1);
    try {
      work();
      std::fflush(stdout);
    } catch (const std::exception& e) {
      write_all(problem.ends[1], e.what());
    }
    _exit(0);
  }
  out.shut(1);
  problem.shut(1);
  Apart result;
  result.out = read_all(out.ends[0]);
  result.problem = read_all(problem.ends[0]);  // a message fits into the pipe's buffer
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) result.problem = "its process was ended by signal " + std::to_string(WTERMSIG(status));
  return result;
}

}  // namespace ferry::cli
