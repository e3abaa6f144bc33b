// The lines that a user entered, in memory and in a file that the conversations of one user share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ferry::cli {

class History {
 public:
  // `path`: the file; "": none. It is created with its folder, readable by its owner only. A file that cannot be read
  // or written is not used.
  explicit History(std::string path);

  // Appends a line, unless it repeats the last one. A line of more than 64 KiB is not written to the file.
  void add(const std::string& line);
  // The newest is the last one.
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  void rewrite() const;

  std::string path_;
  std::vector<std::string> lines_;
};

// chat_history in ferry's part of the user's state folder (XDG_STATE_HOME, ~/.local/state); "" without a home.
std::string history_file();

}  // namespace ferry::cli
