// Usage: help, versions, and messages for mistakes.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"
#include "tests/support/blobs.h"
#include "tests/support/environment.h"

namespace ferry::cli_test {
namespace {

class CommandLine : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) { return ferry(folder_.path(), arguments); }
  std::string blob(size_t index) {
    const testing::Named named = testing::small_blobs()[index];
    const std::string_view bytes(reinterpret_cast<const char*>(named.blob.data()), named.blob.size());
    return folder_.write(std::string(named.name) + ".ferry", bytes);
  }
  ScratchFolder folder_;
};

TEST_F(CommandLine, VersionIsTheLibrarys) {
  const Result r = run({"--version"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.out, "ferry 0.3.0\n");
}

TEST_F(CommandLine, EveryCommandExplainsItselfWithExamples) {
  for (const char* command : {"models", "convert", "inspect", "run", "parity", "bench", "devices"}) {
    const Result r = run({command, "--help"});
    EXPECT_EQ(r.exit_code, 0) << command;
    EXPECT_NE(r.out.find(std::string("Usage: ferry ") + command), std::string::npos) << r.out;
    EXPECT_NE(r.out.find(std::string("\n  ferry ") + command), std::string::npos) << "no example in " << r.out;
    EXPECT_EQ(r.err, "");
  }
  const Result r = run({"--help"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_NE(r.out.find("Exit codes: 0 done"), std::string::npos);
}

TEST_F(CommandLine, WithoutACommandTheyAreListed) {
  EXPECT_REFUSED(run({}), "which command? models, get, convert, export, quantise, inspect");
}

TEST_F(CommandLine, AMistypedCommandGetsTheNearOne) {
  EXPECT_REFUSED(run({"covert", "x"}), "no command is called 'covert' (did you mean convert?)");
}

TEST_F(CommandLine, AMistypedOptionGetsTheNearOne) {
  EXPECT_REFUSED(run({"bench", "m.ferry", "--thread", "2"}), "no option is called --thread (did you mean --threads?)");
  EXPECT_REFUSED(run({"inspect", "--josn"}), "no option is called --josn (did you mean --json?)");
  EXPECT_REFUSED(run({"--bogus"}), "no option is called --bogus");
}

TEST_F(CommandLine, MissingAndSurplusArgumentsAreNamed) {
  EXPECT_REFUSED(run({"inspect"}), "MODEL is required");
  EXPECT_REFUSED(run({"inspect", "a", "b"}), "one argument too many: 'b'");
  EXPECT_REFUSED(run({"bench", "m.ferry", "--threads"}), "--threads needs a value");
  EXPECT_REFUSED(run({"bench", "m.ferry", "--threads", "many"}), "--threads many: expected a whole number\n");
  EXPECT_REFUSED(run({"bench", "m.ferry", "--threads", "1e3"}), "--threads 1e3: expected a whole number: 1000\n");
  EXPECT_REFUSED(run({"bench", "m.ferry", "--threads", "1.5"}), "--threads 1.5: expected a whole number\n");
  EXPECT_REFUSED(run({"run", "m.ferry", "--tokens", "1,x"}), "--tokens x: expected a whole number");
  EXPECT_REFUSED(run({"run", "m.ferry", "--temperature", "hot"}), "--temperature hot: expected a number");
}

TEST_F(CommandLine, NumbersOutOfRangeAreRefused) {
  EXPECT_REFUSED(run({"bench", "m.ferry", "--threads=-1"}), "--threads -1: expected 0");
  EXPECT_REFUSED(run({"bench", "m.ferry", "--runs", "0"}), "--runs 0: expected a whole number, 1 or more");
  EXPECT_REFUSED(run({"bench", "m.ferry", "--fps=-1"}), "--fps -1: expected 0");
  EXPECT_REFUSED(run({"run", "m.ferry", "a.png", "--top=-1"}), "--top -1: expected 0");
}

// Standard output of `ferry COMMAND --help` on a terminal of so many columns.
std::vector<std::string> help_on(const std::string& command, int columns) {
  const ScratchFolder folder;
  const std::string words = quoted(ferry_command()) + " " + command + " --help";
  folder.write("run.py",
               "import fcntl, os, pty, struct, sys, termios\n"
               "pid, terminal = pty.fork()\n"
               "if pid == 0:\n"
               "  fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, " +
                   std::to_string(columns) +
                   ", 0, 0))\n"
                   "  os.execvp('sh', ['sh', '-c', sys.argv[1]])\n"
                   "out = b''\n"
                   "try:\n"
                   "  while True:\n"
                   "    out += os.read(terminal, 65536)\n"
                   "except OSError: pass\n"
                   "sys.stdout.write(out.decode().replace('\\r\\n', '\\n'))\n");
  return lines(run_program("python3", folder.path(), {"run.py", words}).out);
}

TEST_F(CommandLine, HelpFitsTheTerminalInGroups) {
  if (*FERRY_EMULATOR != '\0') GTEST_SKIP() << "the test starts Python, not an emulated program";
  for (const int columns : {60, 80, 110}) {
    const std::vector<std::string> help = help_on("run", columns);
    ASSERT_GT(help.size(), 30u);
    size_t longest = 0;
    for (const std::string& line : help) {
      if (line.starts_with("  ferry ")) continue;  // an example
      EXPECT_LE(line.size(), static_cast<size_t>(columns)) << line;
      longest = std::max(longest, line.size());
    }
    EXPECT_GT(longest, static_cast<size_t>(columns) - 15) << "the width is used";
  }
  const std::string help = run({"run", "--help"}).out;
  size_t at = 0;
  for (const char* group : {"\nArguments:\n", "\nOptions:\n", "\nTensors:\n", "\nText:\n", "\nSampling:\n",
                            "\nBackend:\n", "\nThreads:\n"}) {
    EXPECT_EQ(help.find(group), help.rfind(group)) << group;
    const size_t found = help.find(group);
    ASSERT_NE(found, std::string::npos) << group << help;
    EXPECT_GT(found, at) << group;
    at = found;
  }
  EXPECT_LT(help.find("\n  --temperature T"), help.find("\nBackend:\n"));
}

TEST_F(CommandLine, UnknownCoresAreRefused) {
  for (const std::string cores : {"fast", "0-", "-1", "0,,1", "3-1", "1024", "0x1"})
    EXPECT_REFUSED(run({"bench", "m.ferry", "--cores=" + cores}),
                   "--cores " + cores + ": expected performance, balanced, efficient, all, or CPUs by number as 0-3,6");
  EXPECT_REFUSED(run({"bench", "m.ferry", "--cores="}), "--cores");
  for (const char* command : {"run", "chat", "verify", "parity"})
    EXPECT_REFUSED(run({command, "m.ferry", "--cores", "big"}), "--cores big: expected performance");
  EXPECT_REFUSED(run({"bench", blob(0), "--cores", "1023"}), "it has '1023', there are ");
}

TEST_F(CommandLine, CoresAreChosenByNameOrNumber) {
  const auto figures = [&](const std::string& cores) {
    return nlohmann::json::parse(run({"bench", blob(0), "--runs", "1", "--json", "--cores", cores}).out);
  };
  const nlohmann::json all = figures("all");
  for (const char* name : {"performance", "balanced", "efficient"})
    EXPECT_LE(figures(name).at("threads"), all.at("threads")) << name;
  // One by its number: the first of all.
  const std::string cpus = all.at("cpus"), first = cpus.substr(0, cpus.find_first_of(",-"));
  const nlohmann::json one = figures(first + "," + first);
  EXPECT_EQ(one.at("cpus"), first);
  EXPECT_EQ(one.at("threads"), 1);
  const std::string text = run({"bench", blob(0), "--runs", "1", "--cores", first, "--threads", "2"}).out;
  EXPECT_NE(text.find(" 2 on CPU " + first + "\n"), std::string::npos) << text;
}

TEST_F(CommandLine, BackendsThatDoNotFitAreRefused) {
  EXPECT_REFUSED(run({"run", blob(0), "a.png", "--backend", "tpu"}), "--backend tpu: not a backend; use cpu or gpu");
  EXPECT_REFUSED(run({"bench", blob(0), "--backend", "gpu", "--precision", "f64"}), "--precision f64: not a precision");
  EXPECT_REFUSED(run({"bench", blob(0), "--graph", "none"}), "the model has no graph 'none'");
  EXPECT_REFUSED(run({"inspect", blob(0), "--device", "0"}), "--device names a GPU: add --backend gpu");
  EXPECT_REFUSED(run({"bench", blob(0), "--tune"}), "--tune is the GPU's: add --backend gpu");
}

TEST_F(CommandLine, WithoutAGpuMeasurementsAreRefused) {
  const HiddenVulkan hidden;
  const Result devices = run({"devices"});
  EXPECT_EQ(devices.exit_code, 0) << devices.err;
  ASSERT_TRUE(devices.out.starts_with("no GPU: ")) << devices.out;
  const std::string reason = devices.out.substr(8);
  EXPECT_EQ(nlohmann::json::parse(run({"devices", "--json"}).out)["problem"].get<std::string>() + "\n", reason);
  EXPECT_REFUSED(run({"bench", blob(0), "--backend", "gpu"}), reason);
  EXPECT_REFUSED(run({"inspect", blob(0), "--backend", "gpu"}), reason);
}

TEST_F(CommandLine, AMissingBlobIsNamedByEveryCommand) {
  for (const char* command : {"inspect", "bench"}) EXPECT_REFUSED(run({command, "missing.ferry"}), "missing.ferry");
  EXPECT_REFUSED(run({"run", "missing.ferry", "a.png"}), "missing.ferry");
}

TEST_F(CommandLine, ATruncatedBlobAndAForeignFileAreRefused) {
  const std::string whole = read_text(blob(0));
  folder_.write("cut.ferry", std::string_view(whole).substr(0, whole.size() / 2));
  folder_.write("foreign.ferry", std::string(1000, 'x'));
  for (const char* command : {"inspect", "bench"}) {
    EXPECT_REFUSED(run({command, "cut.ferry"}), "ferry");
    EXPECT_REFUSED(run({command, "foreign.ferry"}), "ferry");
  }
}

TEST_F(CommandLine, InspectShowsGraphSizesPortsAndPlan) {
  const Result r = run({"inspect", blob(0), "--ops"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  for (const char* words : {"small_classifier", "input float32 [1,8,8,3], in its framework [1,3,8,8]",
                            "logits float32 [1,5]", "shorter edge to 10 (Bicubic), centre crop 8x8",
                            "classification, 5 labels", "arena", "conv2d 3", "block.depthwise", "parameters"}) {
    EXPECT_NE(r.out.find(words), std::string::npos) << words << " is not in\n" << r.out;
  }
}

TEST_F(CommandLine, InspectCountsAsWritten) {
  const Result r = run({"inspect", blob(0), "--json", "--ops"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto j = nlohmann::json::parse(r.out);
  uint64_t macs = 0, parameters = 0;
  for (const auto& op : j["graph"]) {
    macs += op["macs"].get<uint64_t>();
    parameters += op["parameters"].get<uint64_t>();
  }
  EXPECT_EQ(j["macs"], macs);
  EXPECT_EQ(j["parameters"], parameters);
  // stem 3x3 3->8 on 8x8, depthwise 3x3 of 8 and pointwise 8->8 on 4x4, linear 8->5
  EXPECT_EQ(macs, 8u * 8 * 8 * 27 + 4 * 4 * 8 * 9 + 4 * 4 * 8 * 8 + 8 * 5);
  EXPECT_EQ(parameters, 8u * 27 + 8 + 8 * 9 + 8 + 8 * 8 + 8 + 8 * 5 + 5);
  EXPECT_EQ(j["inputs"][0]["source_shape"], (std::vector<int>{1, 3, 8, 8}));
  EXPECT_GT(j["memory"]["arena_bytes"], 0);
  EXPECT_EQ(j["taps"].size(), 3u);
}

TEST_F(CommandLine, BenchBeginsSoManyRunsASecond) {
  const auto begin = std::chrono::steady_clock::now();
  const Result r = run({"bench", blob(0), "--runs", "4", "--fps", "4", "--threads", "1"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

TEST_F(CommandLine, BenchTimesEveryOperator) {
  const Result r = run({"bench", blob(0), "--runs", "3", "--threads", "1", "--json", "--ops"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto j = nlohmann::json::parse(r.out);
  EXPECT_GT(j["min_ms"], 0.0);
  EXPECT_GE(j["median_ms"], j["min_ms"]);
  EXPECT_GE(j["max_ms"], j["median_ms"]);
  EXPECT_EQ(j["runs_ms"].size(), 3u);
  EXPECT_GT(j["cpu_ms"], 0.0);
  EXPECT_GT(j["peak_rss_bytes"], 1000000);
  const auto& ops = j["ops"];
  const auto operators = nlohmann::json::parse(run({"inspect", blob(0), "--json", "--ops"}).out)["graph"].size();
  EXPECT_EQ(ops.size(), operators);
  for (size_t i = 1; i < ops.size(); ++i) EXPECT_GE(ops[i - 1]["microseconds"], ops[i]["microseconds"]);
  EXPECT_NE(run({"bench", blob(0), "--runs", "1", "--ops"}).out.find("block.depthwise"), std::string::npos);
}

}  // namespace
}  // namespace ferry::cli_test
