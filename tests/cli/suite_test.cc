// ferry bench --suite: several blobs, one page with the machine, the date and the commit.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "cli/machine.h"
#include "converter/pack/pack.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"
#include "tests/support/language_model.h"

namespace ferry::cli_test {
namespace {

using Json = nlohmann::json;

class Suite : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"bench", "--suite", "--runs", "2"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return ferry(folder_.path(), all);
  }
  void write(const std::string& name, const Graph& graph) {
    const std::vector<std::byte> bytes = pack(graph);
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    folder_.write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  std::string file(const char* name) { return read_text(folder_.path() / name); }
  // Asks for two threads, on machines of one, too.
  Json figures(std::vector<std::string> arguments, int exit_code = 0) {
    arguments.insert(arguments.end(), {"--json", "--threads", "2"});
    const Result r = run(arguments);
    EXPECT_EQ(r.exit_code, exit_code) << r.err;
    return Json::parse(r.out);
  }

  ScratchFolder folder_;
};

TEST_F(Suite, TimesEveryBlobWithOneThreadAndWithMore) {
  write("blobs/b.ferry", *testing::small_upscaler());
  write("blobs/a.ferry", *testing::small_classifier());
  write("other.ferry", *testing::small_classifier());
  folder_.write("blobs/notes.txt", "no blob");
  const Json j = figures({"blobs", "other.ferry", "-o", "page.html"});
  EXPECT_EQ(j["format"], "ferry-bench-suite/1");
  ASSERT_EQ(j["blobs"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const Json& blob = j["blobs"][i];
    EXPECT_EQ(blob["blob"], (std::vector<std::string>{"blobs/a.ferry", "blobs/b.ferry", "other.ferry"})[i]);
    EXPECT_EQ(blob["file_bytes"], std::filesystem::file_size(folder_.path() / blob["blob"].get<std::string>()));
    ASSERT_EQ(blob["runs"].size(), 2u) << blob;
    for (size_t way = 0; way < 2; ++way) {
      const Json& timed = blob["runs"][way];
      EXPECT_EQ(timed["threads"], way + 1);
      EXPECT_EQ(timed["runs_ms"].size(), 2u);
      EXPECT_GT(timed["min_ms"], 0.0);
      EXPECT_GE(timed["median_ms"], timed["min_ms"]);
      EXPECT_GT(timed["peak_rss_bytes"], 1000000);
      EXPECT_GT(timed["load_ms"], 0.0);
    }
  }
  EXPECT_EQ(j["blobs"][0]["model"], "small_classifier");
  EXPECT_EQ(j["blobs"][0]["inputs"], (std::vector<std::string>{"Float32 [1,8,8,3]"}));
  const std::string page = file("page.html");
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_EQ(page.find("http"), std::string::npos) << "it needs nothing else";
  for (const std::string& words :
       {std::string("small_classifier"), std::string("blobs/b.ferry"), std::string("2 threads"),
        j["date"].get<std::string>(), j["commit"].get<std::string>()})
    EXPECT_NE(page.find(words), std::string::npos) << words;
}

TEST_F(Suite, SaysWhereAndWhenAndOfWhichCommit) {
  write("m.ferry", *testing::small_classifier());
  const Json j = figures({"m.ferry"});
  const Json& machine = j["machine"];
  EXPECT_NE(machine["cpu"], "");
  EXPECT_GE(machine["cores"], machine["cores_allowed"]);
  EXPECT_GE(machine["cores_allowed"], 1);
  EXPECT_GT(machine["memory_bytes"], 1e6);
  EXPECT_NE(machine["system"].get<std::string>().find("Linux"), std::string::npos);
  EXPECT_NE(machine["features"], "") << "those that kernels are chosen by";
  EXPECT_EQ(machine["emulated"], *FERRY_EMULATOR != '\0');
  EXPECT_TRUE(std::regex_match(j["date"].get<std::string>(), std::regex("20\\d\\d-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC")));
  EXPECT_EQ(j["version"].get<std::string>() + "\n", ferry(folder_.path(), {"--version"}).out.substr(6)) << j;
  const bool checkout = std::filesystem::exists(source_folder() / ".git");
  EXPECT_TRUE(std::regex_match(j["commit"].get<std::string>(), std::regex(checkout ? "[0-9a-f]{12}" : "unknown")));
}

// Language models have a table of their own, with tokens per second.
TEST_F(Suite, LanguageModels) {
  write("text.ferry", *testing::small_language_model());
  const Result r =
      run({"text.ferry", "-o", "page.html", "--threads", "1", "--prompt-tokens", "4", "--new-tokens", "2"});
  EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  EXPECT_NE(r.out.find("language model, tokens/s  on "), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find("median"), std::string::npos) << "a heading without blobs: " << r.out;
  EXPECT_NE(file("page.html").find("<th>language model</th>"), std::string::npos);
  EXPECT_EQ(file("page.html").find("<th>network</th>"), std::string::npos) << "there is none";
}

// A blob that cannot be timed is reported, and the others are timed.
TEST_F(Suite, ADamagedBlobBesideOthers) {
  write("a.ferry", *testing::small_classifier());
  folder_.write("damaged.ferry", file("a.ferry").substr(0, 500));
  const Json j = figures({"damaged.ferry", "a.ferry", "-o", "page.html"}, 1);
  EXPECT_FALSE(j["blobs"][0].contains("runs"));
  EXPECT_NE(j["blobs"][0]["problem"], "");
  EXPECT_EQ(j["blobs"][1]["runs"].size(), 2u);
  EXPECT_NE(file("page.html").find("alarm\">damaged.ferry: "), std::string::npos);
  const Result text = run({"damaged.ferry", "a.ferry", "--threads", "1"});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_EQ(lines(text.out).size(), 4u) << text.out;
  EXPECT_NE(text.out.find("1 thread "), std::string::npos) << text.out;
}

TEST_F(Suite, RefusesWhatItCannotDo) {
  write("a.ferry", *testing::small_classifier());
  std::filesystem::create_directory(folder_.path() / "empty");
  const auto refused = [&](const std::vector<std::string>& words, const std::string& sentence) {
    const Result r = ferry(folder_.path(), words);
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_NE(r.err.find(sentence), std::string::npos) << r.err;
    EXPECT_EQ(lines(r.err).size(), 1u) << r.err;
  };
  refused({"bench", "--suite", "empty"}, "empty: no file in this folder ends in .ferry");
  refused({"bench", "--suite", "absent"}, "absent: there is no such file");
  refused({"bench", "--suite", "a.ferry", "--ops"}, "--ops: not of a suite");
  refused({"bench", "--suite", "a.ferry", "--fps", "3"}, "--fps: not of a suite");
  refused({"bench", "--suite", "a.ferry", "--graph", "a"}, "--graph a: a suite times the first graph of each blob");
  refused({"bench", "--suite", "a.ferry", "-o", "empty"}, "-o empty: this is a folder");
  refused({"bench", "--suite", "a.ferry", "-o", "absent/page.html"}, "absent/page.html");
  refused({"bench", "a.ferry", "-o", "page.html"}, "add --suite");
  refused({"bench", "a.ferry", "a.ferry"}, "--suite times several");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "page.html"));
}

TEST(Machine, IsCalledAsItsSystemSays) {
  using cli::cpu_name;
  EXPECT_EQ(
      cpu_name("vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) CPU\n\nmodel name\t: Intel(R) Xeon(R) CPU\n"),
      "Intel(R) Xeon(R) CPU");
  EXPECT_EQ(cpu_name("CPU implementer\t: 0x41\nCPU part\t: 0xd05\n\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"),
            "Cortex-A55 and Cortex-A76");
  EXPECT_EQ(cpu_name("CPU implementer\t: 0x41\nCPU part\t: 0xd81\n"), "Cortex-A720");
  EXPECT_EQ(cpu_name("CPU implementer\t: 0x51\nCPU part\t: 0xd0b\n"), "part 0xd0b of implementer 0x51");
  EXPECT_EQ(cpu_name("hart\t: 0\nuarch\t: sifive,u74-mc\n"), "sifive,u74-mc");
  EXPECT_EQ(cpu_name(""), "unknown");
}

TEST(Machine, IsToldFromAnEmulatedOne) {
  using cli::is_emulated;
  const std::string x86 = "vendor_id\t: GenuineIntel\n", arm = "CPU implementer\t: 0x41\n";
  EXPECT_FALSE(is_emulated(x86, "x86_64", "x86-64"));
  EXPECT_FALSE(is_emulated(arm, "aarch64", "arm64"));
  EXPECT_FALSE(is_emulated(arm, "", "arm64"));
  EXPECT_FALSE(is_emulated(arm, "aarch64", "armv7"));
  EXPECT_TRUE(is_emulated(x86, "", "arm64"));
  EXPECT_TRUE(is_emulated(arm, "x86_64", "arm64"));
  EXPECT_TRUE(is_emulated(arm, "aarch64", "x86-64"));
  EXPECT_TRUE(is_emulated(x86 + "model name\t: QEMU TCG CPU version 2.5+\n", "x86_64", "x86-64"));
}

}  // namespace
}  // namespace ferry::cli_test
