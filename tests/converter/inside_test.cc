// Links in folders of checkpoints: inside the folder, and in the hub's cache to the repository's blobs.
#include "converter/checkpoint/inside.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/companions.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/error.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

class Inside : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(path("out"));
    fs::create_directories(path("in/part"));
    const std::vector<float> values(8, 1.0f);
    CheckpointTensor tensor;
    tensor.shape = {8};
    tensor.bytes = std::as_bytes(std::span(values));
    for (const char* name : {"out/w.safetensors", "in/part/w.safetensors"})
      write_safetensors(path(name), {{"weight", tensor}});
    fs::create_symlink("../out/w.safetensors", path("in/link.safetensors"));
    fs::create_symlink("../out", path("in/dir"));
    fs::create_symlink("part/w.safetensors", path("in/inner.safetensors"));
  }
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  void name_shard(const std::string& folder, const std::string& shard) {
    folder_.write(folder + "/model.safetensors.index.json", nlohmann::json{{"weight_map", {{"weight", shard}}}}.dump());
  }
  std::string refusal(const fs::path& checkpoint) {
    try {
      open_checkpoint(checkpoint);
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }

  ScratchFolder folder_;
};

constexpr const char* kRefused = "such links are not followed";

TEST_F(Inside, ShardsBehindLinksOutOfTheFolderAreRefused) {
  for (const char* shard : {"link.safetensors", "dir/w.safetensors"}) {
    name_shard("in", shard);
    for (const char* from : {"in", "in/model.safetensors.index.json"})
      EXPECT_NE(refusal(path(from)).find(kRefused), std::string::npos) << shard << ": " << refusal(path(from));
  }
  for (const char* shard : {"inner.safetensors", "part/w.safetensors"}) {
    name_shard("in", shard);
    EXPECT_EQ(refusal(path("in")), "") << shard;
  }
}

TEST_F(Inside, TheCheckpointAndItsCompanionsAreInTheFolder) {
  fs::create_symlink("../out/w.safetensors", path("in/model.safetensors"));
  EXPECT_NE(refusal(path("in")).find(kRefused), std::string::npos);
  EXPECT_EQ(refusal(path("in/model.safetensors")), "") << "a file that the user names is followed";
  folder_.write("out/secret.json", "{}");
  fs::create_symlink("../out/secret.json", path("in/config.json"));
  const Companions companions(path("in"));
  EXPECT_TRUE(companions.has("config.json"));
  EXPECT_THROW((void)companions.read("config.json"), Error);
  // The folder itself may be a link.
  fs::create_symlink("in/part", path("alias"));
  fs::rename(path("in/part/w.safetensors"), path("in/part/model.safetensors"));
  EXPECT_EQ(refusal(path("alias")), "");
}

TEST_F(Inside, TheHubsCacheLinksToItsBlobs) {
  const std::string repository = "hub/models--a--b", snapshot = repository + "/snapshots/0123";
  fs::create_directories(path(snapshot + "/onnx"));
  fs::create_directories(path(repository + "/blobs"));
  fs::create_directories(path("hub/models--c--d/blobs"));
  fs::copy_file(path("out/w.safetensors"), path(repository + "/blobs/etag"));
  fs::copy_file(path("out/w.safetensors"), path("hub/models--c--d/blobs/etag"));
  fs::create_symlink("../../blobs/etag", path(snapshot + "/model.safetensors"));
  EXPECT_EQ(refusal(path(snapshot)), "");
  fs::create_symlink("../../../blobs/etag", path(snapshot + "/onnx/data"));
  EXPECT_NO_THROW(check_inside(path(snapshot + "/onnx"), path(snapshot + "/onnx/data")));
  fs::remove(path(snapshot + "/model.safetensors"));
  fs::create_symlink("../../../models--c--d/blobs/etag", path(snapshot + "/model.safetensors"));
  EXPECT_NE(refusal(path(snapshot)).find(kRefused), std::string::npos) << "another repository's";
  // Blobs that are a link out of the cache are none.
  fs::remove_all(path(repository + "/blobs"));
  fs::create_symlink(path("out"), path(repository + "/blobs"));
  fs::remove(path(snapshot + "/model.safetensors"));
  fs::create_symlink("../../blobs/w.safetensors", path(snapshot + "/model.safetensors"));
  EXPECT_NE(refusal(path(snapshot)).find(kRefused), std::string::npos);
}

}  // namespace
}  // namespace ferry
