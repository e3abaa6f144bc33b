// ferry completion and ferry help: completions and manual page match `ferry COMMAND --help`.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "tests/cli/command.h"

namespace ferry::cli_test {
namespace {

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

class Completion : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) { return ferry(folder_.path(), arguments); }

  // Runs a bash script in the test's folder. Uses programs of this machine; `ferry` may be emulated.
  std::string bash(const std::string& script) {
    folder_.write("script", script);
    const std::string out = folder_.path() / "said";
    std::system(("cd " + quoted(folder_.path()) + " && bash script >" + quoted(out) + " 2>&1").c_str());
    return read_text(out);
  }

  // The completions of the last of these words.
  std::vector<std::string> offered(const std::vector<std::string>& words) {
    if (script_.empty()) script_ = run({"completion", "bash"}).out;
    std::string line = script_ + "\nCOMP_WORDS=(";
    for (const std::string& word : words) line += quoted(word) + " ";
    return lines(bash(line + ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
                      "\n_ferry\n[ ${#COMPREPLY[@]} = 0 ] || printf '%s\\n' \"${COMPREPLY[@]}\"\n"));
  }

  std::vector<std::string> commands() { return offered({"ferry", ""}); }

  // The options of `ferry COMMAND --help`, sorted by name.
  std::set<std::string> options_of(const std::string& command) {
    std::set<std::string> names;
    const std::regex option("^  (-\\w,)?(--[\\w-]+)");
    for (const std::string& line : lines(run({command, "--help"}).out)) {
      std::smatch found;
      if (!std::regex_search(line, found, option)) continue;
      if (found[1].matched) names.insert(found[1].str().substr(0, 2));
      names.insert(found[2]);
    }
    return names;
  }

  ScratchFolder folder_;
  std::string script_;
};

using Words = std::vector<std::string>;

TEST_F(Completion, BashIsOfferedTheCommands) {
  EXPECT_EQ(offered({"ferry", "inspe"}), Words{"inspect"});
  EXPECT_EQ(offered({"ferry", "--v"}), Words{"--version"});
  EXPECT_EQ(offered({"ferry", "help", "chat"}), Words{"chat"});
  EXPECT_EQ(offered({"ferry", "completion", ""}), (Words{"bash", "zsh", "fish"}));
}

TEST_F(Completion, BashIsOfferedEveryOptionOfTheHelp) {
  if (*FERRY_EMULATOR) GTEST_SKIP() << "each command's help takes a third of a second there";
  size_t count = 0;
  for (const std::string& command : commands()) {
    if (command.starts_with('-')) continue;
    const Words words = offered({"ferry", command, "m.ferry", "-"});
    EXPECT_EQ(std::set<std::string>(words.begin(), words.end()), options_of(command)) << command;
    count += words.size();
  }
  EXPECT_GE(count, 100u);
}

TEST_F(Completion, BashIsOfferedValues) {
  EXPECT_EQ(offered({"ferry", "run", "m.ferry", "--backend", ""}), (Words{"cpu", "gpu"}));
  EXPECT_EQ(offered({"ferry", "run", "m.ferry", "--backend", "=", "g"}), Words{"gpu"});
  EXPECT_EQ(offered({"ferry", "run", "m.ferry", "--backend", "="}), (Words{"cpu", "gpu"}));
  EXPECT_EQ(offered({"ferry", "bench", "--cores", ""}), (Words{"performance", "balanced", "efficient", "all"}));
  EXPECT_EQ(offered({"ferry", "run", "m.ferry", "--threads", ""}), Words{}) << "a number is not a file";
#if defined(FERRY_HAS_HUB)
  EXPECT_EQ(offered({"ferry", "get", "torchvision/resnet18"}), Words{"torchvision/resnet18.v1"});
#endif
#if defined(FERRY_HAS_CONVERTER)
  const Words models = offered({"ferry", "convert", "c.safetensors", "--model", "resnet50"});
  EXPECT_NE(std::find(models.begin(), models.end(), "resnet50"), models.end());
  EXPECT_GE(models.size(), 2u) << "with its variants";
#endif
}

TEST_F(Completion, BashIsOfferedFilesAndFolders) {
  folder_.write("a file.ferry", "");
  folder_.write("a folder/b", "");
  EXPECT_EQ(offered({"ferry", "inspect", "a f"}), (Words{"a file.ferry", "a folder"}));
  EXPECT_EQ(offered({"ferry", "run", "m.ferry", "--mask", "a fi"}), Words{"a file.ferry"});
  EXPECT_EQ(offered({"ferry", "export", "m.ferry", "-o", "a f"}), Words{"a folder"});
  EXPECT_EQ(offered({"ferry", "devices", "a"}), Words{}) << "it takes none";
}

TEST_F(Completion, FishIsOfferedTheSame) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  folder_.write("a file.ferry", "");
  folder_.write("ferry.fish", run({"completion", "fish"}).out);
  const auto offered = [&](const std::string& line) {
    return lines(bash("fish --no-config -c 'source ferry.fish; complete -C \"" + line + "\"' | cut -f 1"));
  };
  EXPECT_EQ(offered("ferry inspe"), Words{"inspect"});
  EXPECT_EQ(offered("ferry bench --runs"), Words{"--runs"});
  EXPECT_EQ(offered("ferry run m.ferry --backend "), (Words{"cpu", "gpu"}));
  EXPECT_EQ(offered("ferry inspect a"), Words{"a file.ferry"});
  EXPECT_EQ(offered("ferry devices a"), Words{});
}

// zsh's completions were tested by hand.
TEST_F(Completion, ScriptsHaveNoSyntaxErrors) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Result r = run({"completion", shell});
    EXPECT_EQ(r.exit_code, 0) << r.err;
    EXPECT_NE(r.out.find("inspect"), std::string::npos) << shell;
    folder_.write("completion", r.out);
    if (installed(shell)) {
      EXPECT_EQ(bash(std::string(shell) + " -n completion"), "") << shell;
    }
  }
  EXPECT_REFUSED(run({"completion", "csh"}), "SHELL csh: expected bash, zsh or fish");
}

TEST_F(Completion, HelpIsTheCommandsOwn) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "bench"}).out, run({"bench", "--help"}).out);
  EXPECT_REFUSED(run({"help", "bnch"}), "no command is called 'bnch' (did you mean bench?)");
  EXPECT_REFUSED(run({"help", "bench", "--man"}), "--man: the manual page is of all commands");
}

TEST_F(Completion, TheManualPageHasEveryCommandAndOption) {
  const Result page = run({"help", "--man"});
  ASSERT_EQ(page.exit_code, 0) << page.err;
  folder_.write("ferry.1", page.out);
  if (!installed("groff")) GTEST_SKIP() << "groff is not installed";
  EXPECT_EQ(bash("groff -man -ww -Tascii -z ferry.1"), "") << "warnings";
  const std::string text = bash("groff -man -Tascii -P-cbou -rLL=200n ferry.1");
  for (const std::string& command : commands()) {
    if (command.starts_with('-')) continue;
    EXPECT_NE(text.find("   ferry " + command), std::string::npos) << command;
    if (*FERRY_EMULATOR) continue;
    for (const std::string& option : options_of(command))
      EXPECT_TRUE(option.starts_with("-h") || option == "--help" || text.find(option) != std::string::npos)
          << command << " " << option;
  }
  EXPECT_NE(text.find("$(ferry completion bash)"), std::string::npos) << "examples are what can be pasted";
}

}  // namespace
}  // namespace ferry::cli_test
