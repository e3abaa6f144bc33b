// ferry help, ferry completion
#include <cstdio>
#include <memory>

#include "cli/command.h"
#include "cli/description.h"

namespace ferry::cli {

void add_help(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "help", "What a command takes; or the manual page of all");
  app.footer(
      "\nExamples:\n"
      "  ferry help convert                     as `ferry convert --help`\n"
      "  ferry help --man >ferry.1              the manual page, which `cmake --install` puts into share/man\n"
      "  ferry help --man | man -l -            to read it");
  auto command = std::make_shared<std::string>();
  auto man = std::make_shared<bool>(false);
  app.add_option("COMMAND", *command, "Which one; without it: all, in short").type_name("");
  app.add_flag("--man", *man, "The manual page of all commands, in roff");
  app.callback([&ferry, command, man, exit_code] {
    if (*man && !command->empty()) fail("--man: the manual page is of all commands: without %s", command->c_str());
    std::fputs((*man ? manual_page(describe(ferry)) : help_of(ferry, *command)).c_str(), stdout);
    *exit_code = kDone;
  });
}

void add_completion(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "completion", "A script by which a shell completes the words of `ferry`");
  app.footer(
      "\n`cmake --install` and Debian packages put the scripts where the shells look for them. For one user alone:\n"
      "\nExamples:\n"
      "  eval \"$(ferry completion bash)\"                            in ~/.bashrc\n"
      "  ferry completion zsh >~/.zsh/functions/_ferry              a folder of fpath, before compinit\n"
      "  ferry completion fish >~/.config/fish/completions/ferry.fish");
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "For which").required().one_of({"bash", "zsh", "fish"});
  app.callback([&ferry, shell, exit_code] {
    std::fputs(completion(describe(ferry), *shell).c_str(), stdout);
    *exit_code = kDone;
  });
}

}  // namespace ferry::cli
