// The manual page ferry(1), generated from the description of the command line.
#include <ferry/ferry.h>

#include <algorithm>
#include <cctype>

#include "cli/description.h"

namespace ferry::cli {
namespace {

// Text escaped for roff. Hyphens, quotes and tildes stay ASCII, so that commands can be pasted into a shell.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
  }
  return out;
}

// A line of text. A leading period would be a request of roff.
std::string line(const std::string& text) { return (text.starts_with('.') ? "\\&" : "") + escaped(text) + "\n"; }

// Paragraphs are filled; lines that begin with spaces stay as they are.
std::string prose(const std::string& text) {
  std::string out;
  bool kept = false, paragraph = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string words = text.substr(at, end - at);
    at = end + 1;
    const bool keep = words.starts_with(' ');
    if (kept != keep) out += keep ? ".PP\n.nf\n" : ".fi\n";
    if (!keep && !words.empty() && (kept || !paragraph)) out += ".PP\n";
    kept = keep;
    paragraph = !keep && !words.empty();
    if (!words.empty()) out += line(words);
  }
  return out + (kept ? ".fi\n" : "");
}

// Placeholders as "MODEL" in italics, literal words in bold.
std::string placeholder(const std::string& value) {
  const bool literal = std::none_of(value.begin(), value.end(), [](char c) { return std::isupper(c); });
  return (literal ? "\\fB" : "\\fI") + escaped(value) + "\\fR";
}

std::string item(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names) {
    if (!names.empty()) names += ", ";
    names += option.positional ? placeholder(name) : "\\fB" + escaped(name) + "\\fR";
  }
  if (option.takes_value && !option.positional && !option.type.empty()) names += " " + placeholder(option.type);
  if (option.repeated) names += " ...";
  std::string help = option.help;
  std::replace(help.begin(), help.end(), '\n', ' ');
  if (!option.value_if_absent.empty()) help += " (default: " + option.value_if_absent + ")";
  return ".TP\n" + names + "\n" + line(help);
}

// "Carries models to devices: converts..." -> "carries models to devices"
std::string in_short(std::string summary) {
  summary.resize(std::min(summary.find(':'), summary.size()));
  summary.front() = static_cast<char>(std::tolower(summary.front()));
  return escaped(summary);
}

bool is_help(const OptionText& option) {
  return std::find(option.names.begin(), option.names.end(), "--help") != option.names.end();
}

std::string section(const CommandText& command) {
  std::string usage = command.name;
  for (const OptionText& option : command.options) {
    if (!option.positional) continue;
    const std::string name = option.names.front() + (option.repeated ? " ..." : "");
    usage += option.required ? " " + name : " [" + name + "]";
  }
  for (const OptionText& option : command.options) {
    if (option.positional || !option.required) continue;
    usage += " " + option.names.back() + " " + option.type;
  }
  const bool has_options = std::any_of(command.options.begin(), command.options.end(), [](const OptionText& option) {
    return !option.positional && !option.required && !is_help(option);
  });
  std::string out =
      ".SS ferry " + escaped(usage) + (has_options ? " [OPTIONS]" : "") + "\n" + line(command.summary + ".");
  for (const bool positional : {true, false}) {
    for (const OptionText& option : command.options)
      if (option.positional == positional && !is_help(option)) out += item(option);
  }
  return out + prose(command.footer);
}

}  // namespace

std::string manual_page(const CommandLineText& text) {
  std::string out = std::string(".\\\" Made by `ferry help --man`.\n.TH FERRY 1 \"\" \"Ferry ") + ferry_version() +
                    "\" \"User Commands\"\n"
                    // Options of several words are long: no hyphenation, no stretched lines.
                    ".nh\n.ad l\n"
                    ".SH NAME\nferry \\- " +
                    in_short(text.summary) +
                    "\n"
                    ".SH SYNOPSIS\n\\fBferry\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n"
                    ".SH DESCRIPTION\n";
  out += line(text.summary) + prose(text.footer) + ".SH OPTIONS\n";
  for (const OptionText& option : text.options) out += item(option);
  out += ".SH COMMANDS\n";
  for (const CommandText& command : text.commands) out += section(command);
  return out;
}

}  // namespace ferry::cli
