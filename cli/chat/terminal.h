// The terminal of a conversation: what was typed, byte by byte, and Ctrl-C. The process may have one at a time.
//
// Lines are not read by the system's line discipline, which cuts them at 4096 bytes and ends one at each newline of a
// paste. Typed bytes are not echoed; line_editor.h draws them. The modes are restored by the destructor, by signals
// that end the process, and while it is stopped.
#pragma once

#include <ferry/text.h>

#include <string>
#include <string_view>

namespace ferry::cli {

class Terminal {
 public:
  // Whether standard input is a terminal.
  static bool present();

  // Throws Error if its modes cannot be set. Until begin_prompt(), Ctrl-C ends the process.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // From now on, Ctrl-C is an event.
  void begin_prompt();
  enum class Event {
    Bytes,        // appended to `bytes`
    Interrupted,  // Ctrl-C
    Redraw,       // another size, or continued after a stop
    End,          // the terminal is gone
  };
  // Waits for one of them. Of several, Ctrl-C comes first, then Redraw.
  Event read(std::string* bytes);
  // Whether read() would return without waiting.
  bool pending() const;

  void write(std::string_view text) const;
  size_t columns() const;
  size_t rows() const;
  // Whether it moves its cursor by escape sequences; TERM=dumb does not.
  bool moves_cursor() const { return moves_cursor_; }

  // During its lifetime, the first Ctrl-C cancels the generator's run, and a second one ends the process. Without a
  // terminal, Ctrl-C ends the process.
  class Answer {
   public:
    Answer(const Terminal* terminal, ferry_generator* generator);
    ~Answer();
    Answer(const Answer&) = delete;
    Answer& operator=(const Answer&) = delete;
    bool interrupted() const;

   private:
    bool watched_;
  };

 private:
  bool moves_cursor_;
  int screen_;  // file descriptor that is drawn to
};

}  // namespace ferry::cli
