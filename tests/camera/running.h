// camera-linux as a process that runs until it is stopped.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/scratch_folder.h"

namespace camera {

class Running {
 public:
  explicit Running(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {FERRY_CAMERA_LINUX};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::string out = folder_.path() / "out", err = folder_.path() / "err";
    process_ = fork();
    if (process_ != 0) return;
    dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Running() {
    if (process_ > 0) end(SIGKILL);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  std::string out() const { return ferry::read_text(folder_.path() / "out"); }
  std::string err() const { return ferry::read_text(folder_.path() / "err"); }

  // Waits until the output contains `words`; false if the process ends before, or after a timeout.
  bool says(const std::string& words) {
    for (int i = 0; i < 3000; ++i) {
      if (out().find(words) != std::string::npos || err().find(words) != std::string::npos) return true;
      if (!running() && i > 1) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // The page's "http://127.0.0.1:4711/".
  std::string url() {
    EXPECT_TRUE(says("the page is at ")) << err();
    const std::string text = err();
    const size_t begin = text.find("http://");
    return text.substr(begin, text.find('\n', begin) - begin);
  }
  // The exit code; negative if a signal ended it.
  int end(int signal) {
    if (process_ <= 0) return exit_code_;
    kill(process_, signal);
    return wait();
  }
  // Likewise. A program that does not end within a minute is killed.
  int wait() {
    for (int i = 0; running(); ++i) {
      if (i == 6000) kill(process_, SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return exit_code_;
  }

 private:
  bool running() {
    int status = 0;
    if (process_ > 0 && waitpid(process_, &status, WNOHANG) == process_) {
      process_ = -1;
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    return process_ > 0;
  }

  ferry::ScratchFolder folder_;
  pid_t process_ = -1;
  int exit_code_ = -1000;
};

}  // namespace camera
