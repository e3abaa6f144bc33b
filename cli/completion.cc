// Scripts that complete `ferry` in a shell. They hold all words, so that completing starts no program.
#include <ferry/ferry.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "cli/command.h"
#include "cli/description.h"
#include "cli/text.h"

namespace ferry::cli {
namespace {

using Words = std::vector<std::string>;

// The values that an argument can have.
struct Values {
  enum class Kind { Unknown, Files, Folders, Listed };
  Kind kind = Kind::Unknown;
  Words words;

  bool operator==(const Values&) const = default;
};

// The names that the help has for values that are files.
constexpr std::array kFiles = {"FILE",  "PATH",    "MODEL", "BLOB",  "CKPT",           "ONNX",
                               "IMAGE", "FIXTURE", "CHAT",  "TEXTS", "FOLDER_OR_BLOB", "PROGRAM"};

Values values_of(const OptionText& option, const CommandLineText& text) {
  const std::string& value = option.value();
  if (value == "FOLDER") return {Values::Kind::Folders, {}};
  if (value == "VARIANT") return {Values::Kind::Listed, variant_names()};
  if (value == "CHECKPOINT") return {Values::Kind::Listed, checkpoint_names()};
  if (std::find(kFiles.begin(), kFiles.end(), value) != kFiles.end()) return {Values::Kind::Files, {}};
  Values found;
  if (value == "COMMAND") {
    for (const CommandText& command : text.commands) found.words.push_back(command.name);
  } else if (value.find('|') != std::string::npos) {  // "cpu|gpu"; a word in capitals is a placeholder
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, '|');)
      if (std::none_of(word.begin(), word.end(), [](char c) { return std::isupper(c); })) found.words.push_back(word);
  }
  if (!found.words.empty()) found.kind = Values::Kind::Listed;
  return found;
}

Words names_of(const std::vector<OptionText>& options) {
  Words names;
  for (const OptionText& option : options)
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// The help's first clause, on one line.
std::string brief(const OptionText& option) {
  std::string text = option.help;
  std::replace(text.begin(), text.end(), '\n', ' ');
  for (const char* end : {"; ", ". ", ": "}) text.resize(std::min(text.find(end), text.size()));
  return text;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

std::string head(const char* shell) {
  return std::string("# Completes the words of `ferry` ") + ferry_version() + "; made by `ferry completion " + shell +
         "`.\n";
}

// ---- bash -----------------------------------------------------------------------------------------------------------

std::string bash_values(const Values& values) {
  switch (values.kind) {
    case Values::Kind::Files: return "_ferry_paths -f; return ;;";
    case Values::Kind::Folders: return "_ferry_paths -d; return ;;";
    case Values::Kind::Listed: return "_ferry_words '" + join(values.words, " ") + "'; return ;;";
    case Values::Kind::Unknown: break;
  }
  return "return ;;";
}

// Branches of a `case`: the candidates for each position.
class Branches {
 public:
  void add(const Values& values, const std::string& at) {
    auto same = std::find_if(branches_.begin(), branches_.end(), [&](const auto& b) { return b.first == values; });
    if (same == branches_.end()) same = branches_.insert(same, {values, {}});
    same->second.push_back("'" + at + "'");
  }

  std::string text() const {
    std::string out;
    for (const auto& [values, at] : branches_) out += "    " + join(at, " | ") + ") " + bash_values(values) + "\n";
    return out;
  }

 private:
  std::vector<std::pair<Values, Words>> branches_;
};

std::string bash(const CommandLineText& text) {
  Words first = names_of(text.options);
  Branches values, names, operands;  // at "COMMAND --option", "COMMAND", and "COMMAND"
  for (const CommandText& command : text.commands) {
    first.push_back(command.name);
    names.add({Values::Kind::Listed, names_of(command.options)}, command.name);
    Values last;
    for (const OptionText& option : command.options) {
      if (option.positional) last = values_of(option, text);
      if (option.positional || !option.takes_value) continue;
      for (const std::string& name : option.names) values.add(values_of(option, text), command.name + " " + name);
    }
    operands.add(last, command.name);
  }
  return head("bash") +
         R"(_ferry_words() { COMPREPLY=($(compgen -W "$1" -- "$word")); }
_ferry_paths() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$word")
}
_ferry() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _ferry_words ')" +
         join(first, " ") + R"('
    return
  fi
  # --name=value comes in three words.
  [ "$word" != = ] || word=
  [ "$before" != = ] || before=${COMP_WORDS[COMP_CWORD - 2]}
  case "$command $before" in
)" + values.text() +
         R"(  esac
  [[ $word == -* ]] && case $command in
)" + names.text() +
         R"(  esac
  case $command in
)" + operands.text() +
         R"(  esac
}
complete -F _ferry ferry
)";
}

// ---- zsh ------------------------------------------------------------------------------------------------------------

// Text within single quotes. _arguments gives brackets and colons a meaning.
std::string zsh_words(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return replaced(out, "'", "'\\''");
}

std::string zsh_value(const OptionText& option, const CommandLineText& text) {
  const std::string label = ":" + zsh_words(option.value()) + ":";
  const Values values = values_of(option, text);
  switch (values.kind) {
    case Values::Kind::Files: return label + "_files";
    case Values::Kind::Folders: return label + "_files -/";
    case Values::Kind::Listed:
      return label + (option.value() == "VARIANT" ? "($variants)" : "(" + join(values.words, " ") + ")");
    case Values::Kind::Unknown: break;
  }
  return label + " ";
}

// 'SPECIFICATION', in which "($variants)" is in double quotes.
std::string zsh_quoted(const std::string& specification) {
  const size_t at = specification.find("($variants)");
  return at == std::string::npos ? "'" + specification + "'" : "'" + specification.substr(0, at) + "'\"($variants)\"";
}

std::string zsh_options(const std::vector<OptionText>& options, const CommandLineText& text,
                        const std::string& indent) {
  std::string out;
  for (const OptionText& option : options) {
    if (option.positional) {
      const char* place = option.repeated ? "*" : "";
      out += indent + zsh_quoted(place + zsh_value(option, text));
      continue;
    }
    for (const std::string& name : option.names) {
      std::string specification = option.repeated ? "*" : "(" + join(option.names, " ") + ")";
      specification += name;
      if (option.takes_value) specification += name.starts_with("--") ? "=" : "+";
      specification += "[" + zsh_words(brief(option)) + "]";
      if (option.takes_value) specification += zsh_value(option, text);
      out += indent + zsh_quoted(specification);
    }
  }
  return out;
}

std::string zsh(const CommandLineText& text) {
  std::string out = "#compdef ferry\n" + head("zsh") +
                    "_ferry() {\n"
                    "  local curcontext=$curcontext state line\n"
                    "  typeset -A opt_args\n"
                    "  local variants='" +
                    join(variant_names(), " ") + "'\n  local -a commands=(\n";
  for (const CommandText& command : text.commands)
    out += "    '" + command.name + ":" + zsh_words(command.summary) + "'\n";
  out += "  )\n  _arguments -C" + zsh_options(text.options, text, " \\\n    ") +
         " \\\n    '1:command:->command' '*::argument:->argument' && return\n"
         "  if [[ $state == command ]]; then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  case $words[1] in\n";
  for (const CommandText& command : text.commands) {
    out +=
        "    " + command.name + ")\n      _arguments" + zsh_options(command.options, text, " \\\n        ") + " ;;\n";
  }
  return out +
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _ferry ]; then _ferry \"$@\"; else compdef _ferry ferry; fi\n";
}

// ---- fish -----------------------------------------------------------------------------------------------------------

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_values(const Values& values) {
  switch (values.kind) {
    case Values::Kind::Files: return " -r -F";
    case Values::Kind::Folders: return " -x -a '(__fish_complete_directories)'";
    case Values::Kind::Listed: return " -x -a " + fish_quoted(join(values.words, " "));
    case Values::Kind::Unknown: break;
  }
  return " -x";
}

std::string fish(const CommandLineText& text) {
  const auto option_line = [&](const OptionText& option, const std::string& condition) {
    std::string out = "complete -c ferry -n " + condition;
    for (const std::string& name : option.names)
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (option.takes_value) out += fish_values(values_of(option, text));
    return out + " -d " + fish_quoted(brief(option)) + "\n";
  };
  std::string out = head("fish") + "complete -c ferry -f\n";
  for (const OptionText& option : text.options) out += option_line(option, "__fish_use_subcommand");
  for (const CommandText& command : text.commands) {
    out +=
        "complete -c ferry -n __fish_use_subcommand -a " + command.name + " -d " + fish_quoted(command.summary) + "\n";
  }
  for (const CommandText& command : text.commands) {
    const std::string condition = "'__fish_seen_subcommand_from " + command.name + "'";
    Values operands;
    for (const OptionText& option : command.options) {
      if (option.positional)
        operands = values_of(option, text);
      else
        out += option_line(option, condition);
    }
    if (operands.kind == Values::Kind::Files) out += "complete -c ferry -n " + condition + " -F\n";
    if (operands.kind == Values::Kind::Listed)
      out += "complete -c ferry -n " + condition + " -a " + fish_quoted(join(operands.words, " ")) + "\n";
  }
  return out;
}

}  // namespace

std::string completion(const CommandLineText& text, const std::string& shell) {
  return shell == "bash" ? bash(text) : shell == "zsh" ? zsh(text) : fish(text);
}

}  // namespace ferry::cli
