#include "cli/chat/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "converter/error.h"

namespace ferry::cli {
namespace {

// Bracketed paste: the terminal then encloses pasted text in ESC [200~ and ESC [201~.
constexpr std::string_view kPasteOn = "\x1b[?2004h", kPasteOff = "\x1b[?2004l";
constexpr std::string_view kPlain = "\x1b[0m";

constexpr int kEnding[] = {SIGTERM, SIGHUP, SIGQUIT};

enum class Phase : int { Starting, Prompt, Answer };

// What signal handlers use. They may run in any thread and at any instruction.
struct Shared {
  termios original, raw;
  int screen;
  bool marks;  // the terminal understands escape sequences
  int wake[2] = {-1, -1};
  std::atomic<Phase> phase;
  std::atomic<bool> interrupted, redraw;
  std::atomic<ferry_generator*> generator;
};
Shared current;
static_assert(std::atomic<Phase>::is_always_lock_free && std::atomic<ferry_generator*>::is_always_lock_free);

void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = ::write(current.screen, text.data(), text.size());
    if (done < 0 && errno != EINTR) return;
    if (done > 0) text.remove_prefix(static_cast<size_t>(done));
  }
}

void enter_raw_mode() {
  tcsetattr(STDIN_FILENO, TCSANOW, &current.raw);
  if (current.marks) put(kPasteOn);
}

void restore() {
  if (current.marks) {
    put(kPlain);
    put(kPasteOff);
  }
  tcsetattr(STDIN_FILENO, TCSANOW, &current.original);
}

void die_of(int signal) {
  restore();
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  std::raise(signal);
}

void wake() {
  const char byte = 0;
  if (::write(current.wake[1], &byte, 1) < 0) return;  // full: it will wake up anyway
}

void on_interrupt(int signal) {
  const int error = errno;
  if (current.phase == Phase::Starting || (current.phase == Phase::Answer && current.interrupted.exchange(true))) {
    put("\n");
    die_of(signal);
  }
  current.interrupted = true;
  if (ferry_generator* generator = current.generator) ferry_generator_cancel(generator);
  wake();
  errno = error;
}

void on_stop(int) {
  const int error = errno;
  restore();
  std::raise(SIGSTOP);  // returns when the process is continued
  enter_raw_mode();
  current.redraw = true;
  wake();
  errno = error;
}

void on_resize(int) {
  const int error = errno;
  current.redraw = true;
  wake();
  errno = error;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

winsize size_of(int screen) {
  winsize size{};
  ioctl(screen, TIOCGWINSZ, &size);
  return size;
}

}  // namespace

bool Terminal::present() { return isatty(STDIN_FILENO) != 0; }

Terminal::Terminal() {
  const char* term = std::getenv("TERM");
  moves_cursor_ = term != nullptr && *term != '\0' && std::strcmp(term, "dumb") != 0;
  screen_ = isatty(STDOUT_FILENO) != 0 ? STDOUT_FILENO : isatty(STDERR_FILENO) != 0 ? STDERR_FILENO : STDIN_FILENO;
  current.screen = screen_;
  current.marks = moves_cursor_;
  current.phase = Phase::Starting;
  current.interrupted = current.redraw = false;
  current.generator = nullptr;
  if (tcgetattr(STDIN_FILENO, &current.original) != 0 || pipe2(current.wake, O_CLOEXEC | O_NONBLOCK) != 0)
    fail("the terminal cannot be used: %s", std::strerror(errno));
  current.raw = current.original;
  current.raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  current.raw.c_iflag &= ~static_cast<tcflag_t>(ISTRIP | ICRNL | INLCR | IGNCR);
  current.raw.c_cc[VMIN] = 1;
  current.raw.c_cc[VTIME] = 0;
  handle(SIGINT, on_interrupt);
  handle(SIGTSTP, on_stop);
  handle(SIGWINCH, on_resize);
  for (const int signal : kEnding) handle(signal, die_of);
  enter_raw_mode();
}

Terminal::~Terminal() {
  restore();
  for (const int signal : {SIGINT, SIGTSTP, SIGWINCH}) std::signal(signal, SIG_DFL);
  for (const int signal : kEnding) std::signal(signal, SIG_DFL);
  ::close(current.wake[0]);
  ::close(current.wake[1]);
}

Terminal::Event Terminal::read(std::string* bytes) {
  for (;;) {
    char woken[64];
    while (::read(current.wake[0], woken, sizeof woken) > 0) continue;
    if (current.interrupted.exchange(false)) return Event::Interrupted;
    if (current.redraw.exchange(false)) return Event::Redraw;
    pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {current.wake[0], POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0 && errno != EINTR) return Event::End;
    // A signal may have come after poll() looked at the pipe: what is typed after Ctrl-C comes after it.
    if (watched[1].revents != 0 || watched[0].revents == 0 || current.interrupted) continue;
    char typed[4096];
    const ssize_t count = ::read(STDIN_FILENO, typed, sizeof typed);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return Event::End;
    bytes->append(typed, static_cast<size_t>(count));
    return Event::Bytes;
  }
}

void Terminal::begin_prompt() { current.phase = Phase::Prompt; }

bool Terminal::pending() const {
  pollfd watched = {STDIN_FILENO, POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

void Terminal::write(std::string_view text) const { put(text); }
size_t Terminal::columns() const {
  const winsize size = size_of(screen_);
  return size.ws_col > 0 ? size.ws_col : 80;
}
size_t Terminal::rows() const {
  const winsize size = size_of(screen_);
  return size.ws_row > 0 ? size.ws_row : 24;
}

Terminal::Answer::Answer(const Terminal* terminal, ferry_generator* generator) : watched_(terminal != nullptr) {
  if (!watched_) return;
  current.interrupted = false;
  current.generator = generator;
  current.phase = Phase::Answer;
}

Terminal::Answer::~Answer() {
  if (!watched_) return;
  current.generator = nullptr;
  current.phase = Phase::Prompt;
  current.interrupted = false;
}

bool Terminal::Answer::interrupted() const { return watched_ && current.interrupted; }

}  // namespace ferry::cli
