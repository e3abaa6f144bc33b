// ferry help, ferry completion
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/description.h"
#include "cli/print.h"

namespace ferry::cli {

void add_help(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "help", "Print the help of a command, or the manual page of all");
  app.footer(
      "\nExamples:\n"
      "  ferry help convert                     the same as `ferry convert --help`\n"
      "  ferry help --man >ferry.1              the manual page; `cmake --install` puts it into share/man\n"
      "  ferry help --man | man -l -            to read it");
  auto command = std::make_shared<std::string>();
  auto man = std::make_shared<bool>(false);
  app.add_option("COMMAND", *command, "The command; without it: a list of all").type_name("");
  app.add_flag("--man", *man, "The manual page of all commands, as roff");
  app.callback([&ferry, command, man, exit_code] {
    if (*man && !command->empty()) fail("--man: the manual page is of all commands; leave out %s", command->c_str());
    print_text(*man ? manual_page(describe(ferry)) : help_text(describe(ferry), *command, terminal_width()));
    *exit_code = kDone;
  });
}

void add_completion(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "completion", "Print the script that completes `ferry` in a shell");
  app.footer(
      "\n`cmake --install` and Debian packages install the scripts for all users. For one user:\n"
      "\nExamples:\n"
      "  eval \"$(ferry completion bash)\"                            in ~/.bashrc\n"
      "  ferry completion zsh >~/.zsh/functions/_ferry              a folder of fpath, before compinit\n"
      "  ferry completion fish >~/.config/fish/completions/ferry.fish");
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "The shell").required().one_of({"bash", "zsh", "fish"});
  app.callback([&ferry, shell, exit_code] {
    print_text(completion(describe(ferry), *shell));
    *exit_code = kDone;
  });
}

}  // namespace ferry::cli
