// `ferry parity` as a whole, on the network of tests/parity/tiny. A right blob passes; a wrong one fails, and the first
// wrong tensor is named.
#include "cli/parity/parity_command.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/parity/tiny_network.h"
#include "tests/support/environment.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

struct Ran {
  int exit_code = -1;
  std::string out, err;
};

Ran run(const std::vector<std::string>& arguments) {
  CLI::App app;
  Ran ran;
  add_parity(app, &ran.exit_code);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  reversed.push_back("parity");
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  app.parse(reversed);
  ran.out = ::testing::internal::GetCapturedStdout();
  ran.err = ::testing::internal::GetCapturedStderr();
  return ran;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Ran run_tiny(TinyFault fault) {
  const ScratchFolder folder;
  return run({write_tiny_blob(folder.path(), fault).string(), tiny_fixture().string()});
}

TEST(ParityCommand, PassesARightBlob) {
  const Ran ran = run_tiny(TinyFault::None);
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  for (const char* name : {"tap/stem.conv", "tap/stem", "feat/0", "tap/block.0.conv", "tap/block.0.bn", "tap/block.0",
                           "features", "pooled", "logits"})
    EXPECT_NE(ran.out.find("\n" + std::string(name) + " "), std::string::npos) << name;
  EXPECT_NE(ran.out.find("in bounds: 9 tensors compared"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find('\033'), std::string::npos) << "no colours where there is no terminal";
  EXPECT_EQ(ran.err, "");
}

TEST(ParityCommand, ResultsDoNotDependOnTheThreads) {
  const ScratchFolder folder;
  const std::string blob = write_tiny_blob(folder.path()).string();
  const Ran one = run({blob, tiny_fixture().string(), "--threads", "1"});
  const Ran three = run({blob, tiny_fixture().string(), "--threads", "3"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_EQ(one.out, three.out);
}

// The fault fails, and the first tensor that it affects is named.
void expect_caught(TinyFault fault, const std::string& first) {
  const Ran ran = run_tiny(fault);
  EXPECT_EQ(ran.exit_code, 1) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("the first out of bounds is " + first + ", bound "), std::string::npos) << ran.out;
}
TEST(ParityCommand, CatchesAWrongEpsilon) { expect_caught(TinyFault::WrongEpsilon, "tap/stem"); }
TEST(ParityCommand, CatchesAFlippedKernel) { expect_caught(TinyFault::FlippedKernel, "tap/block.0.conv"); }
TEST(ParityCommand, CatchesPaddingOnTheWrongSide) { expect_caught(TinyFault::PaddingSide, "tap/stem.conv"); }
TEST(ParityCommand, CatchesADroppedShift) { expect_caught(TinyFault::DroppedShift, "tap/block.0.bn"); }
TEST(ParityCommand, CatchesOneWrongWeightOfTheHead) { expect_caught(TinyFault::WrongWeight, "logits"); }
TEST(ParityCommand, CatchesAnInfiniteLogit) {
  const Ran ran = run_tiny(TinyFault::NotFinite);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find("the result has an infinite value at [0,3]"), std::string::npos) << ran.out;
}
TEST(ParityCommand, CatchesAMissingOutput) {
  const Ran ran = run_tiny(TinyFault::NoFeatures);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(ran.out.find("the blob lacks 1 output that it must hold: features"), std::string::npos) << ran.out;
}

TEST(ParityCommand, WritesJsonHtmlAndSvg) {
  const ScratchFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  const Ran ran = run({write_tiny_blob(folder.path()).string(), tiny_fixture().string(), "--json", path("a.json"),
                       "--html", path("a.html"), "--svg", path("a.svg")});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto json = nlohmann::json::parse(read_file(path("a.json")));
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["blob"], "tiny.ferry");
  EXPECT_EQ(json["rows"].size(), 9u);
  EXPECT_TRUE(read_file(path("a.html")).starts_with("<!doctype html>"));
  EXPECT_TRUE(read_file(path("a.svg")).starts_with("<svg "));
}

// With two folders, a blob is paired with the fixture whose name is its prefix.
TEST(ParityCommand, ComparesFoldersInOneTable) {
  namespace fs = std::filesystem;
  const ScratchFolder folder;
  const fs::path blobs = folder.path() / "blobs", fixtures = folder.path() / "fixtures";
  fs::create_directories(blobs);
  fs::create_directories(fixtures);
  for (const char* name : {"right", "right.wrong", "alone"})
    fs::copy(tiny_fixture(), fixtures / name, fs::copy_options::recursive);
  fs::rename(write_tiny_blob(folder.path()), blobs / "right.taps.ferry");
  fs::rename(write_tiny_blob(folder.path(), TinyFault::WrongEpsilon), blobs / "right.wrong.ferry");
  const auto passes = [&] {
    return run({blobs.string(), fixtures.string(), "--json", (folder.path() / "t.json").string()});
  };

  Ran ran = passes();
  EXPECT_EQ(ran.exit_code, 1);
  const auto row = [&](const std::string& blob) {
    const size_t at = ran.out.find("\n" + blob);
    return at == std::string::npos ? "" : ran.out.substr(at + 1, ran.out.find('\n', at + 1) - at - 1);
  };
  EXPECT_NE(row("right.taps.ferry ").find("9/9"), std::string::npos) << ran.out;
  EXPECT_TRUE(row("right.taps.ferry ").ends_with("ok")) << ran.out;
  EXPECT_TRUE(row("right.wrong.ferry  right.wrong ").ends_with("OUT OF BOUNDS  from tap/stem")) << ran.out;
  EXPECT_NE(ran.out.find("FAILED: 1 of 2 comparisons passed; 1 fixture has no blob here."), std::string::npos)
      << ran.out;
  const auto json = nlohmann::json::parse(read_file(folder.path() / "t.json"));
  EXPECT_EQ(json["passed"], false);
  ASSERT_EQ(json["reports"].size(), 2u);
  EXPECT_EQ(json["reports"][1]["first_out_of_bounds"], "tap/stem");

  fs::remove(blobs / "right.wrong.ferry");
  EXPECT_EQ(passes().exit_code, 0);
  fs::copy(blobs / "right.taps.ferry", blobs / "nobody.ferry");
  ran = passes();
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_NE(row("nobody.ferry ").find("NOT COMPARED  no folder of this name in"), std::string::npos) << ran.out;
  EXPECT_EQ(run({blobs.string(), tiny_fixture().string()}).exit_code, 0) << "one fixture goes with every blob";
  EXPECT_EQ(run({(blobs / "nobody.ferry").string(), fixtures.string()}).exit_code, 0) << "one blob with every fixture";
  EXPECT_EQ(run({blobs.string(), fixtures.string(), "--svg", (folder.path() / "a.svg").string()}).exit_code, 2);
}

TEST(ParityCommand, RefusesBadInputWithOneLine) {
  const ScratchFolder folder;
  const std::string blob = write_tiny_blob(folder.path()).string(), fixture = tiny_fixture().string();
  const auto message = [](const Ran& ran) {
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(ran.err.starts_with("ferry parity: ")) << ran.err;
    EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1) << ran.err;
    return ran.err;
  };
  EXPECT_NE(message(run({blob + "x", fixture})).find("tiny.ferryx"), std::string::npos);
  EXPECT_NE(message(run({folder.path() / "tiny.safetensors", fixture})).find("tiny.safetensors"), std::string::npos);
  EXPECT_NE(message(run({blob, folder.path().string()})).find("no fixture: a fixture is a folder with manifest.json"),
            std::string::npos);
  EXPECT_NE(message(run({blob, fixture, "--backend", "tpu"})).find("--backend tpu: not a backend; use cpu or gpu"),
            std::string::npos);
  {
    const HiddenVulkan hidden;
    EXPECT_EQ(ferry_gpu_count(), 0u);
    const std::string reason = ferry_last_error();
    EXPECT_NE(message(run({blob, fixture, "--backend", "gpu"})).find(reason), std::string::npos) << "not the CPU's";
  }
  EXPECT_NE(message(run({blob, fixture, "--json", "/nowhere/a.json"})).find("'/nowhere/a.json': cannot be written"),
            std::string::npos);
}

}  // namespace
}  // namespace ferry::parity
