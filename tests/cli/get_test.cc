// ferry get: published checkpoints by name.
#if defined(FERRY_HAS_HUB)
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/command.h"
#include "tests/shared.h"
#include "tests/support/hub_server.h"

namespace ferry::cli_test {
namespace {

using Json = nlohmann::json;

class Get : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = {"get"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return ferry(folder_.path(), all);
  }

  ScratchFolder folder_;
};

TEST_F(Get, ListsVerifiedCheckpoints) {
  const Result text = run({}), json = run({"--json"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  const Json entries = Json::parse(json.out);
  EXPECT_TRUE(text.out.starts_with("  name ")) << text.out;
  for (const std::string& line : lines(text.out)) EXPECT_LE(line.size(), 100u) << line;
  std::set<std::string> names, files;
  for (const Json& e : entries) {
    EXPECT_TRUE(names.insert(e["name"].get<std::string>()).second) << e;
    const std::string url = e["url"], digits = e["sha256"];
    EXPECT_GE(digits.size(), 8u) << e;
    EXPECT_EQ(digits.find_first_not_of("0123456789abcdef"), std::string::npos) << e;
    EXPECT_TRUE(url.starts_with("https://")) << e;
    EXPECT_TRUE(files.insert(url.substr(url.rfind('/') + 1)).second) << "two are kept under one name: " << e;
    if (digits.size() == 64) continue;
    EXPECT_TRUE(url.ends_with("-" + digits + ".pth")) << "the publisher's name does not say it: " << e;
  }
  for (const Json& e : entries) {
    EXPECT_NE(e["licence"], "") << e;
    EXPECT_NE(e["task"], "") << e;
    EXPECT_NE(e["input"], "") << e;
    EXPECT_GT(e["megabytes"], 0) << e;
    EXPECT_NE(text.out.find(e["name"].get<std::string>() + " "), std::string::npos) << e;
    // An address without a revision could later have other bytes.
    const std::string url = e["url"], revision = e["revision"];
    EXPECT_TRUE(revision.empty() || url.find("/" + revision + "/") != std::string::npos) << e;
    EXPECT_EQ(url.find("/main/"), std::string::npos) << e;
    EXPECT_EQ(url.find("/master/"), std::string::npos) << e;
  }
  for (const char* name : {"torchvision/resnet50.v2", "timm/resnet50.a1_in1k", "xinntao/realesrgan_x4plus",
                           "ChaoningZhang/mobile_sam", "depth-anything/depth_anything_v2_vits"})
    EXPECT_TRUE(names.contains(name)) << name;
}

// A published file, from its local copy.
TEST_F(Get, APublishedFileBecomesABlobThatSees) {
  const std::filesystem::path shared = shared_dir();
  if (shared.empty()) GTEST_SKIP() << "there is no ../shared";
  const Result r = run({"Linzaer/version-RFB-320", "--from", (shared / "weights/ultraface").string()});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_NE(r.out.find("version-RFB-320.ferry: version-RFB-320, "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find(", MIT; from https://raw.githubusercontent.com/"), std::string::npos) << r.out;
  const Result seen = ferry(folder_.path(), {"run", "version-RFB-320.ferry", (shared / "photos/face.jpg").string()});
  EXPECT_EQ(seen.exit_code, 0) << seen.err;
  EXPECT_NE(seen.out.find("face"), std::string::npos) << seen.out;
}

// docs/checkpoints.md has the same list.
TEST_F(Get, ThePageHasTheSameTable) {
  if (*FERRY_EMULATOR != '\0') GTEST_SKIP() << "an emulated command is not started by a script";
  const std::string line =
      "python3 " + quoted(source_folder() / "scripts/zoo-table") + " --check " + quoted(ferry_command());
  EXPECT_EQ(std::system(line.c_str()), 0) << "run scripts/zoo-table";
}

TEST_F(Get, AFileOfAnotherHashIsNotConverted) {
  const HubServer server("no ResNet");
  const std::string mirror = std::string(std::getenv("HF_ENDPOINT")) + "/published/there";
  const Result r = run({"torchvision/resnet50.v2", "--from", mirror, "-o", "m.ferry"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(lines(r.err).size(), 1u) << r.err;
  EXPECT_NE(r.err.find("and should have one that begins with 11ad3fa6: it is damaged, or another file; it was removed"),
            std::string::npos)
      << r.err;
  EXPECT_EQ(server.requests("/published/there/resnet50-11ad3fa6.pth").size(), 2u) << "a HEAD, and a GET";
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "m.ferry"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "cache/ferry/checkpoints"));

  folder_.write("resnet50-11ad3fa6.pth", "no ResNet");
  const Result of_folder = run({"torchvision/resnet50.v2", "--from", "."});
  EXPECT_EQ(of_folder.exit_code, 2);
  EXPECT_NE(of_folder.err.find("resnet50-11ad3fa6.pth: has the SHA-256 "), std::string::npos) << of_folder.err;
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "resnet50-11ad3fa6.pth")) << "what is the user's stays";
}

TEST_F(Get, WithoutANetworkItNamesFrom) {
  const Result r = run({"torchvision/resnet18.v1", "--from", "http://127.0.0.1:9/there"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(lines(r.err).size(), 1u) << r.err;
  EXPECT_NE(r.err.find("cannot be reached"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("`--from FOLDER` takes resnet18-f37072fd.pth from a folder"), std::string::npos) << r.err;
}

TEST_F(Get, ErrorsHaveAMessage) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& sentence) {
    const Result r = run(words);
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_EQ(lines(r.err).size(), 1u) << r.err;
    EXPECT_NE(r.err.find(sentence), std::string::npos) << r.err;
  };
  refused({"torchvision/resnet50.v3"}, "no checkpoint is known by this name (did you mean torchvision/resnet50.v");
  refused({"-o", "m.ferry"}, "of which checkpoint?");
  refused({"torchvision/resnet50.v2", "--from", "absent"}, "--from absent: there is no absent/resnet50-11ad3fa6.pth");
  refused({"torchvision/resnet50.v2", "-o", "no/such/m.ferry"}, "there is no folder no/such");
  refused({"torchvision/resnet50.v2", "--weights", "f64"}, "--weights");
}

}  // namespace
}  // namespace ferry::cli_test
#endif
