// Files of publishers without a hub, from a local server.
#if defined(FERRY_HAS_HUB)
#include "converter/hub/published.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "converter/checkpoint/sha256.h"
#include "converter/error.h"
#include "tests/support/hub_server.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

const std::string kModel = std::string(300'001, 'm') + "end";
const std::string kSha256 = sha256_hex(std::as_bytes(std::span(kModel)));

class Published : public ::testing::Test {
 protected:
  PublishedFile file(const std::string& digits, const std::string& path = "there/net-12345678.pth") const {
    return {endpoint() + "/published/" + path, digits};
  }
  static std::string endpoint() { return std::getenv("HF_ENDPOINT"); }
  std::string refusal(const PublishedFile& what) {
    try {
      fetch_published(what, folder_.path() / "cache");
      return "fetched";
    } catch (const Error& e) {
      return e.what();
    }
  }

  HubServer server_{kModel};
  ScratchFolder folder_;
};

TEST_F(Published, IsDownloadedCheckedAndKept) {
  const fs::path folder = folder_.path() / "a/cache";
  for (const size_t digits : {size_t{8}, kSha256.size()}) {
    const fs::path path = fetch_published(file(kSha256.substr(0, digits)), folder);
    EXPECT_EQ(path, folder / "net-12345678.pth");
    EXPECT_TRUE(read_text(path) == kModel);
  }
  EXPECT_EQ(server_.requests("GET").size(), 1u) << "what lies there is checked, and taken";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1) << "partial files were left";
}

// Like GitHub's releases and the hub: large files redirect to a storage, which alone knows their length.
TEST_F(Published, RedirectsAreFollowed) {
  const fs::path path = fetch_published(file(kSha256, "stored/net-12345678.pth"), folder_.path() / "cache");
  EXPECT_EQ(path.filename(), "net-12345678.pth");
  EXPECT_TRUE(read_text(path) == kModel);
  EXPECT_EQ(server_.requests("cdn HEAD").size(), 1u);
}

TEST_F(Published, PartialDownloadsResume) {
  fs::create_directories(folder_.path() / "cache");
  folder_.write("cache/net-12345678.pth.part", kModel.substr(0, 1000));
  EXPECT_TRUE(read_text(fetch_published(file(kSha256), folder_.path() / "cache")) == kModel);
  EXPECT_EQ(server_.requests("bytes=1000-").size(), 1u);
}

TEST_F(Published, WrongFilesAreDeleted) {
  const std::string why = refusal(file("00000000"));
  EXPECT_NE(why.find("has the SHA-256 " + kSha256 + ", and should have one that begins with 00000000"),
            std::string::npos)
      << why;
  EXPECT_NE(why.find("it was removed"), std::string::npos) << why;
  EXPECT_TRUE(fs::is_empty(folder_.path() / "cache"));
  EXPECT_NE(refusal(file("")).find("should have one"), std::string::npos) << "no digits are no check";
  const std::string other(64, '0');
  EXPECT_NE(refusal(file(other)).find("and should have " + other + ": it is damaged"), std::string::npos);
}

TEST_F(Published, DamagedCacheFilesAreReported) {
  fs::create_directories(folder_.path() / "cache");
  folder_.write("cache/net-12345678.pth", "damaged");
  EXPECT_NE(refusal(file(kSha256)).find("cache/net-12345678.pth: has the SHA-256"), std::string::npos);
}

TEST_F(Published, FailedDownloadsHaveAMessage) {
  EXPECT_NE(refusal(file(kSha256, "away/x.pth")).find("/published/away/x.pth: the server answered 404"),
            std::string::npos);
  EXPECT_NE(refusal({"http://127.0.0.1:1/x.pth", kSha256}).find("http://127.0.0.1:1/x.pth: cannot be reached"),
            std::string::npos);
}

}  // namespace
}  // namespace ferry
#endif
