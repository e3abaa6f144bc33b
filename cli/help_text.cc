// The help that `ferry --help` and `ferry COMMAND --help` print.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/description.h"
#include "cli/text.h"
#include "converter/error.h"
#include "converter/suggest.h"

namespace ferry::cli {
namespace {

// The words of `text` on lines of at most `width` columns, each behind `indent` spaces.
std::string filled(const std::string& text, size_t indent, size_t width) {
  std::string out, line;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = text.find_first_not_of(" \n", at);
    if (begin == std::string::npos) break;
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    at = end;
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
      out += std::string(indent, ' ') + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + std::string(indent, ' ') + line + "\n";
}

// Two columns: a name, and what it is. A name that is too long for its column has a line to itself.
std::string help_item(const std::string& name, const std::string& text, size_t column, size_t width) {
  const std::string body = filled(text, column, width);
  std::string head = "  " + name;
  if (body.empty()) return head + "\n";
  if (head.size() + 2 > column) return head + "\n" + body;
  head.resize(column, ' ');
  return head + body.substr(column);
}

// Paragraphs are filled; lines that begin with spaces stay as they are.
std::string help_prose(const std::string& text, size_t width) {
  std::string out, paragraph;
  const auto flush = [&] {
    out += filled(paragraph, 0, width);
    paragraph.clear();
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.front() != ' ') {
      paragraph += line + "\n";
    } else {
      flush();
      out += line + "\n";
    }
  }
  flush();
  return out;
}

std::string help_name(const OptionText& option) {
  std::string name = join(option.names, ",");
  if (!option.positional && option.takes_value && !option.type.empty()) name += " " + option.type;
  return option.repeated ? name + " ..." : name;
}

std::string options_text(const std::vector<OptionText>& options, size_t column, size_t width) {
  std::vector<std::string> groups;
  const auto group_of = [](const OptionText& option) { return option.positional ? "Arguments" : option.group; };
  for (const bool positional : {true, false})
    for (const OptionText& option : options)
      if (option.positional == positional && std::find(groups.begin(), groups.end(), group_of(option)) == groups.end())
        groups.push_back(group_of(option));
  std::string out;
  for (const std::string& group : groups) {
    if (group.empty()) continue;  // hidden
    out += "\n" + group + ":\n";
    for (const OptionText& option : options) {
      if (group_of(option) != group) continue;
      const std::string absent = option.value_if_absent.empty() ? "" : " (default: " + option.value_if_absent + ")";
      out += help_item(help_name(option), option.help + absent, column, width);
    }
  }
  return out;
}

std::string help_usage(const CommandText& command) {
  std::string out = "Usage: ferry " + command.name + " [OPTIONS]";
  for (const OptionText& option : command.options) {
    if (!option.positional) continue;
    const std::string name = option.names.front() + (option.repeated ? " ..." : "");
    out += option.required ? " " + name : " [" + name + "]";
  }
  for (const OptionText& option : command.options)
    if (!option.positional && option.required) out += " " + option.names.back() + " " + option.type;
  return out + "\n";
}

}  // namespace

size_t terminal_width() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::clamp<size_t>(size.ws_col, 40, 120);
}

std::string help_text(const CommandLineText& text, const std::string& command, size_t width) {
  const size_t column = width < 72 ? 10 : 32;
  if (command.empty()) {
    std::string out = filled(text.summary, 0, width) + "\nUsage: ferry COMMAND [ARGUMENTS]\n\nCommands:\n";
    for (const CommandText& c : text.commands) out += help_item(c.name, c.summary, std::min(column, size_t{14}), width);
    return out + options_text(text.options, column, width) + help_prose(text.footer, width);
  }
  std::vector<std::string> names;
  for (const CommandText& c : text.commands) {
    if (c.name == command)
      return filled(c.summary, 0, width) + "\n" + help_usage(c) + options_text(c.options, column, width) +
             help_prose(c.footer, width);
    names.push_back(c.name);
  }
  fail("no command is called '%s'%s: see `ferry help`", command.c_str(), did_you_mean(command, names).c_str());
}

}  // namespace ferry::cli
