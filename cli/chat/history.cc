#include "cli/chat/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>

#include "sdk/files/new_file.h"

namespace ferry::cli {
namespace {

constexpr size_t kMaxLines = 1000, kMaxLineBytes = 64 << 10;

// One line of the file: newlines become "\n", backslashes "\\".
std::string written_line(const std::string& line) {
  std::string out;
  for (const char c : line)
    if (c == '\n')
      out += "\\n";
    else if (c == '\\')
      out += "\\\\";
    else
      out += c;
  return out + "\n";
}

std::string read_line(const std::string& line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool escape = line[i] == '\\' && i + 1 < line.size();
    if (escape) ++i;
    out += escape && line[i] == 'n' ? '\n' : line[i];
  }
  return out;
}

// In one call of write(), so that lines of several processes do not mix. False: it could not be written.
bool append(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return ::close(file) == 0 && whole;
}

}  // namespace

History::History(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  std::ifstream file(path_, std::ios::binary);
  for (std::string line; std::getline(file, line);) lines_.push_back(read_line(line));
  if (lines_.size() <= 2 * kMaxLines) return;
  lines_.erase(lines_.begin(), lines_.end() - kMaxLines);
  rewrite();
}

void History::add(const std::string& line) {
  if (line.empty() || (!lines_.empty() && lines_.back() == line)) return;
  lines_.push_back(line);
  if (!path_.empty() && line.size() <= kMaxLineBytes && !append(path_, written_line(line))) path_.clear();
}

void History::rewrite() const {
  std::string text;
  for (const std::string& line : lines_) text += written_line(line);
  (void)replace_file(path_, std::as_bytes(std::span(text)), {.durable = false, .mode = 0600});  // else it stays long
}

std::string history_file() {
  const char *state = std::getenv("XDG_STATE_HOME"), *home = std::getenv("HOME");
  if (state != nullptr && *state != '\0') return std::string(state) + "/ferry/chat_history";
  return home != nullptr && *home != '\0' ? std::string(home) + "/.local/state/ferry/chat_history" : std::string();
}

}  // namespace ferry::cli
