// ferry convert hf:ORG/NAME, with a local hub.
#if defined(FERRY_HAS_HUB)
#include <gtest/gtest.h>

#include "converter/checkpoint/safetensors.h"
#include "tests/cli/command.h"
#include "tests/support/hub_server.h"

namespace ferry::cli_test {
namespace {

namespace fs = std::filesystem;

std::string strange_checkpoint() {
  const ScratchFolder folder;
  const std::vector<float> values(8, 1.0f);
  write_safetensors(folder.path() / "c",
                    {{"strange.weight", {ElementType::F32, {8}, std::as_bytes(std::span(values))}}});
  return read_text(folder.path() / "c");
}

class ConvertFromHub : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) { return ferry(folder_.path(), arguments); }

  ScratchFolder folder_;
  HubServer server_{strange_checkpoint()};
};

TEST_F(ConvertFromHub, DownloadsThenReadsTheCheckpoint) {
  EXPECT_REFUSED(run({"convert", "hf:org/good"}), "model.safetensors has the keys of no model that Ferry knows");
  EXPECT_TRUE(fs::exists(server_.cached("good") / "snapshots" / HubServer::kCommit / "model.safetensors"));
  EXPECT_REFUSED(run({"convert", "hf:org/good", "--revision", "v1"}), "no model that Ferry knows");
  EXPECT_TRUE(fs::exists(server_.cached("good") / "snapshots" / HubServer::kV1 / "model.safetensors"));
  EXPECT_EQ(server_.requests("cdn").size(), 1u);
}

TEST_F(ConvertFromHub, FailedDownloadsHaveAMessage) {
  EXPECT_REFUSED(run({"convert", "hf:org/missing"}), "hf:org/missing: http://127.0.0.1");
  EXPECT_REFUSED(run({"convert", "hf:org"}), "hf:org: expected hf:ORG/NAME");
  EXPECT_REFUSED(run({"convert", "hf:org/good", "-o", "no/such/m.ferry"}), "there is no folder no/such");
  EXPECT_TRUE(server_.requests("good").empty()) << "what cannot be written is not fetched";
  const Environment offline("HF_HUB_OFFLINE", "1");
  EXPECT_REFUSED(run({"convert", "hf:org/good"}), "HF_HUB_OFFLINE is set, and the cache");
}

TEST_F(ConvertFromHub, ARevisionIsForTheHubOnly) {
  folder_.write("c.safetensors", strange_checkpoint());
  EXPECT_REFUSED(run({"convert", "c.safetensors", "--revision", "v1"}), "--revision v1: only for hf:ORG/NAME");
}

}  // namespace
}  // namespace ferry::cli_test
#endif
