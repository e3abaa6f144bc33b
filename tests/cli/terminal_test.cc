// ferry chat in a terminal: a pseudo-terminal with a process that types.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "converter/pack/pack.h"
#include "tests/cli/command.h"
#include "tests/shared.h"
#include "tests/support/language_model.h"

namespace ferry::cli_test {
namespace {

// An empty line on an xterm, as it is drawn.
constexpr const char* kPrompt = "\r\x1b[J> \r\x1b[2C";

// The command in a terminal of 80 columns, in `folder`, with its state and its cache there.
class TerminalSession {
 public:
  TerminalSession(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                  const char* term = "xterm") {
    winsize size{};
    size.ws_col = 80;
    size.ws_row = 24;
    child_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ == 0) {
      std::string line = "cd " + quoted(folder) + " && TERM=" + term + " XDG_CACHE_HOME=" + quoted(folder / "cache") +
                         " XDG_STATE_HOME=" + quoted(folder / "state") + " exec " + FERRY_EMULATOR + " " +
                         quoted(ferry_command());
      for (const std::string& a : arguments) line += " " + quoted(a);
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    tcgetattr(terminal_, &before_);
  }
  ~TerminalSession() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(terminal_);
  }
  TerminalSession(const TerminalSession&) = delete;
  TerminalSession& operator=(const TerminalSession&) = delete;

  // Reads up to the end of `words`; what was printed since the last call.
  std::string until(const std::string& words) {
    while (printed_.find(words) == std::string::npos && read_some(&printed_)) continue;
    const size_t at = printed_.find(words);
    EXPECT_NE(at, std::string::npos) << "'" << words << "' is not in: " << printed_;
    const size_t end = at == std::string::npos ? printed_.size() : at + words.size();
    const std::string out = printed_.substr(0, end);
    printed_.erase(0, end);
    return out;
  }
  // Reads while it is written, because the terminal holds a few thousand bytes.
  void type(std::string keys) {
    while (!keys.empty()) {
      const ssize_t done = write(terminal_, keys.data(), std::min<size_t>(keys.size(), 512));
      ASSERT_GT(done, 0);
      keys.erase(0, static_cast<size_t>(done));
      pollfd watched = {terminal_, POLLIN, 0};
      while (poll(&watched, 1, 0) > 0 && read_some(&printed_)) continue;
    }
  }
  // Waits for the end of the process; its exit code, and what it printed.
  int wait(std::string* out) {
    while (read_some(&printed_)) continue;
    *out = printed_;
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  // Whether lines are edited and echoed by the system, as before the command.
  bool restored() const {
    termios now;
    return tcgetattr(terminal_, &now) == 0 && now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag;
  }

 private:
  bool read_some(std::string* out) {
    char bytes[4096];
    pollfd watched = {terminal_, POLLIN, 0};
    if (poll(&watched, 1, 60'000) <= 0) return false;
    const ssize_t count = read(terminal_, bytes, sizeof bytes);
    if (count > 0) out->append(bytes, static_cast<size_t>(count));
    return count > 0;
  }

  std::string printed_;  // read, and not returned by until()
  int terminal_ = -1;
  pid_t child_ = -1;
  termios before_{};
};

class ChatTerminal : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<std::byte> bytes = pack(*testing::small_language_model());
    folder_.write("model.ferry", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  std::string history() { return read_text(folder_.path() / "state/ferry/chat_history"); }

  const std::vector<std::string> chat_ = {"chat", "model.ferry", "--max-tokens", "3", "--threads", "1"};
  ScratchFolder folder_;
};

TEST_F(ChatTerminal, LinesOfAnyLengthArriveWhole) {
  for (const char* term : {"xterm", "dumb"}) {
    TerminalSession session(folder_.path(), chat_, term);
    session.until("> ");
    std::string line(9000, 'x');
    line.replace(5000, 2, "\xc3\xa9");
    session.type(line + "\r");
    session.until("longer than the 48 tokens");
    session.type("\x04");
    std::string rest;
    EXPECT_EQ(session.wait(&rest), 0) << rest;
    EXPECT_TRUE(session.restored());
    EXPECT_EQ(history(), line + "\n");
  }
}

TEST_F(ChatTerminal, APasteOfManyLinesIsOneMessage) {
  {
    TerminalSession session(folder_.path(), chat_);
    EXPECT_NE(session.until("> ").find("\x1b[?2004h"), std::string::npos) << "the terminal marks pastes";
    session.type("\x1b[200~a\\b\rc\r\nd\r\x1b[201~");
    session.type("!\r");
    session.until(kPrompt);
    session.type("/exit\r");
    std::string rest;
    EXPECT_EQ(session.wait(&rest), 0) << rest;
    EXPECT_NE(rest.find("tokens a second"), std::string::npos) << rest;
    EXPECT_NE(rest.find("of memory"), std::string::npos) << rest;
    EXPECT_NE(rest.find("\x1b[?2004l"), std::string::npos) << rest;
  }
  EXPECT_EQ(history(), "a\\\\b\\nc\\nd\\n!\n/exit\n");
  // Up, in another conversation: the line before /exit, from which the last two characters are removed.
  TerminalSession session(folder_.path(), chat_);
  session.until("> ");
  session.type("draft\x1b[A\x1b[A\x7f\x7f\r");
  session.until(kPrompt);
  session.type("\x04");
  std::string rest;
  session.wait(&rest);
  EXPECT_EQ(history(), "a\\\\b\\nc\\nd\\n!\n/exit\na\\\\b\\nc\\nd\n");
}

TEST_F(ChatTerminal, CtrlCAtThePromptClearsTheLineThenEnds) {
  TerminalSession session(folder_.path(), chat_);
  session.until("> ");
  session.type("hel");
  session.until("> hel");
  session.type("\x03");
  session.type("/help\r");
  session.until("/set NAME VALUE");
  session.until(kPrompt);
  session.type("\x03");
  std::string rest;
  EXPECT_EQ(session.wait(&rest), 130) << rest;
  EXPECT_TRUE(session.restored());
  EXPECT_EQ(history(), "/help\n");
}

TEST_F(ChatTerminal, ASignalThatEndsTheProcessRestoresTheTerminal) {
  TerminalSession session(folder_.path(), chat_);
  session.until("> ");
  EXPECT_FALSE(session.restored());
  session.type("\x1c");  // Ctrl-\ ends by SIGQUIT
  std::string rest;
  EXPECT_NE(session.wait(&rest), 0) << rest;
  EXPECT_TRUE(session.restored());
}

#if defined(FERRY_HAS_CONVERTER)
TEST_F(ChatTerminal, CtrlCEndsAnAnswerAndNotTheProcess) {
  if (shared_dir().empty()) GTEST_SKIP() << "shared is absent";
  const std::filesystem::path model = folder_.path() / "model";
  std::filesystem::copy(shared_dir() / "cases/ends-in-generation-config-chat/folder", model);
  std::string config = read_text(model / "config.json");
  const std::string length = "\"max_position_embeddings\": 512";
  config.replace(config.find(length), length.size(), "\"max_position_embeddings\": 20000");
  folder_.write("model/config.json", config);
  ASSERT_EQ(ferry(folder_.path(), {"convert", "model", "-o", "long.ferry", "--max-length", "20000"}).exit_code, 0);
  std::vector<std::string> endless = {"chat", "long.ferry", "--temperature", "0", "--threads", "1"};
  for (const char* end : {"256:-inf", "257:-inf", "258:-inf", "259:-inf"})
    endless.insert(endless.end(), {"--bias", end});
  TerminalSession session(folder_.path(), endless);
  session.until("> ");
  session.type("Hi\r");
  session.until("OK");
  session.type("\x03");
  const std::string answer = session.until(kPrompt);
  EXPECT_LT(answer.size(), 19000u) << "it went on to the model's maximum";
  session.type("Hi\r");
  session.until("> Hi");
  session.until("OK");
  session.type("\x03");
  session.until(kPrompt);
  session.type("\x04");
  std::string rest;
  EXPECT_EQ(session.wait(&rest), 0) << rest;
}
#endif

}  // namespace
}  // namespace ferry::cli_test
