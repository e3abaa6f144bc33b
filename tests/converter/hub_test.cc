// Against a local server (tests/support/hub_server.py), whose repositories fail as their names say.
#if defined(FERRY_HAS_HUB)
#include "converter/hub/hub.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "converter/checkpoint/sha256.h"
#include "converter/error.h"
#include "tests/support/hub_server.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

std::string model_bytes() {
  std::string bytes;
  for (uint32_t i = 0; i < 300'001; ++i) bytes += static_cast<char>(i * 2'654'435'761u >> 24);
  return bytes;
}

const std::string kModel = model_bytes();
const std::string kSha256 = sha256_hex(std::as_bytes(std::span(kModel)));
const std::string kFloat16 = std::to_string(kModel.size() / 2);

class Hub : public ::testing::Test {
 protected:
  HubFile fetch(const std::string& name, const std::string& revision = "", const HubProgress& progress = {}) {
    return fetch_from_hub(parse_hub_reference("hf:org/" + name, revision), HubSettings::from_environment(), progress);
  }

  std::string refusal(const std::string& name, const std::string& revision = "") {
    try {
      fetch(name, revision);
      return "fetched";
    } catch (const Error& error) {
      std::string text = error.what();
      const std::string endpoint = HubSettings::from_environment().endpoint;
      for (size_t at; (at = text.find(endpoint)) != text.npos;) text.replace(at, endpoint.size(), "SITE");
      return text;
    }
  }

  void expect_whole(const HubFile& file) { EXPECT_TRUE(read_text(file.path) == kModel) << file.path; }

  HubServer server{kModel};
};

TEST_F(Hub, TheCacheHasPythonsLayout) {
  const HubFile file = fetch("good");
  expect_whole(file);
  const fs::path cache = server.cached("good"), snapshot = cache / "snapshots" / HubServer::kCommit;
  EXPECT_EQ(file.path, snapshot / "model.safetensors");
  EXPECT_EQ(file.source, std::string("hf:org/good@") + HubServer::kCommit + "/model.safetensors");
  EXPECT_EQ(fs::read_symlink(file.path), "../../blobs/" + kSha256);
  EXPECT_EQ(fs::read_symlink(snapshot / "config.json"), "../../blobs/0967ef424bce6791893e9a57bb952f80fd536e93");
  EXPECT_EQ(read_text(cache / "refs" / "main"), HubServer::kCommit);
  EXPECT_FALSE(fs::exists(snapshot / "README.md")) << "what no conversion reads";
  EXPECT_EQ(std::distance(fs::directory_iterator(cache / "blobs"), {}), 2) << "partial files were left";
}

TEST_F(Hub, NothingIsDownloadedTwice) {
  fetch("good");
  EXPECT_EQ(server.requests("cdn").size(), 1u);
  const size_t before = server.requests().size();
  expect_whole(fetch("good"));
  EXPECT_EQ(server.requests().size(), before + 1) << "only what main means now is asked";
  expect_whole(fetch("good", HubServer::kCommit));
  EXPECT_EQ(server.requests().size(), before + 1) << "a commit means the same for ever";
  fetch("good", "v1");
  EXPECT_EQ(server.requests("cdn").size(), 1u) << "another commit with the same blob";
}

// Concurrent conversions of one repository, each in its own process, with a complete cache.
TEST_F(Hub, ConcurrentConversionsShareTheCache) {
  fetch("good");
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    bool fine = true;
    for (int times = 0; times < 20 && fine; ++times) fine = refusal("good") == "fetched";
    _exit(fine ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  expect_whole(fetch("good"));
}

TEST_F(Hub, RevisionsAreBranchesTagsAndCommits) {
  const fs::path snapshots = server.cached("good") / "snapshots";
  EXPECT_EQ(fetch("good", "v1").path, snapshots / HubServer::kV1 / "model.safetensors");
  EXPECT_EQ(fetch("good@v1").path, snapshots / HubServer::kV1 / "model.safetensors");
  EXPECT_EQ(fetch("good", "refs/pr/1").path, snapshots / HubServer::kV1 / "model.safetensors");
  EXPECT_EQ(read_text(server.cached("good") / "refs" / "refs" / "pr" / "1"), HubServer::kV1);
  EXPECT_EQ(refusal("good", "v2"), "hf:org/good@v2: SITE/org/good has no revision 'v2'");
}

TEST_F(Hub, TheTokenStaysWithTheHub) {
  const Environment token("HF_TOKEN", "secret");
  expect_whole(fetch("private"));
  EXPECT_GE(server.requests("hub").size(), 3u);
  EXPECT_EQ(server.requests("hub").size(), server.requests(" secret").size());
  EXPECT_EQ(server.requests("cdn GET /private/model.safetensors - -").size(), 1u);
}

TEST_F(Hub, TheTokenMayLieInAFile) {
  fs::create_directories(server.home());
  std::ofstream(server.home() / "token") << "secret\n";
  expect_whole(fetch("private"));
  const Environment disabled("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1");
  EXPECT_EQ(HubSettings::from_environment().token, "");
}

TEST_F(Hub, ARepositoryThatMovedIsFollowed) { expect_whole(fetch("moved")); }

TEST_F(Hub, BrokenDownloadsResume) {
  expect_whole(fetch("breaks"));
  EXPECT_EQ(server.requests("cdn").size(), 2u);
  EXPECT_EQ(server.requests("cdn GET /breaks/model.safetensors bytes=" + kFloat16 + "-").size(), 1u);
  expect_whole(fetch("tiny_bites"));
}

TEST_F(Hub, ServersWithoutRangesRestart) {
  expect_whole(fetch("no_ranges"));
  EXPECT_EQ(server.requests("cdn").size(), 2u);
}

TEST_F(Hub, ServersThatNeverEndAreLeft) {
  EXPECT_NE(refusal("crumbs").find("stopped after 3 of 300001 bytes"), std::string::npos) << refusal("crumbs");
  const std::string message = refusal("huge");
  EXPECT_TRUE(message.starts_with("hf:org/huge: model.safetensors: has 1152921504606846976 bytes, of which "))
      << message;
  EXPECT_TRUE(message.ends_with(" bytes free")) << message;
  EXPECT_TRUE(server.requests("cdn GET /huge").empty());
}

TEST_F(Hub, StalledDownloadsEnd) {
  const std::string message = refusal("stuck");
  EXPECT_TRUE(message.starts_with("hf:org/stuck: model.safetensors: stopped after " + kFloat16 + " of 300001 bytes ("))
      << message;
  EXPECT_TRUE(message.ends_with("; the next attempt resumes there")) << message;
  EXPECT_EQ(fs::file_size(server.cached("stuck") / "blobs" / (kSha256 + ".incomplete")), kModel.size() / 2);
  EXPECT_FALSE(fs::exists(server.cached("stuck") / "refs")) << "a revision is known when it is complete";
}

TEST_F(Hub, KilledDownloadsResume) {
  const fs::path partial = server.cached("stalls") / "blobs" / (kSha256 + ".incomplete");
  const pid_t child = fork();
  if (child == 0) {
    fetch("stalls", "", [](const std::string&, uint64_t done, uint64_t) {
      if (done == kModel.size() / 2) raise(SIGKILL);
    });
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  const uint64_t kept = fs::file_size(partial);
  EXPECT_GT(kept, 0u);
  expect_whole(fetch("stalls"));
  EXPECT_EQ(server.requests("cdn GET /stalls/model.safetensors bytes=" + std::to_string(kept) + "-").size(), 1u);
  EXPECT_FALSE(fs::exists(partial));
}

TEST_F(Hub, RemovesAFileWithAWrongChecksum) {
  EXPECT_EQ(refusal("corrupt"), "hf:org/corrupt: model.safetensors: has the SHA-256 " + kSha256 + ", expected " +
                                    std::string(64, '0') + ": it was removed; try again");
  EXPECT_FALSE(fs::exists(server.cached("corrupt") / "snapshots" / HubServer::kCommit / "model.safetensors"));
  EXPECT_EQ(std::distance(fs::directory_iterator(server.cached("corrupt") / "blobs"), {}), 1) << "but config.json";
}

TEST_F(Hub, RefusalsHaveMessages) {
  EXPECT_EQ(refusal("missing"),
            "hf:org/missing: SITE has no such model, or it is private: set HF_TOKEN to a token that may read it");
  EXPECT_EQ(refusal("private"),
            "hf:org/private: SITE has no such model, or it is private: set HF_TOKEN to a token that may read it");
  {
    const Environment token("HF_TOKEN", "wrong");
    EXPECT_EQ(refusal("private"),
              "hf:org/private: SITE has no such model, or the token given does not allow reading it");
  }
  EXPECT_EQ(refusal("gated"),
            "hf:org/gated: may only be downloaded by those who accepted its terms at SITE/org/gated: do so and set "
            "HF_TOKEN to your token");
  EXPECT_EQ(refusal("busy"), "hf:org/busy: SITE answered 429 (too many requests): try again later");
  EXPECT_EQ(refusal("notes"), "hf:org/notes: the answer of SITE: is not valid JSON (at byte 1 of 20)");
  EXPECT_EQ(refusal("nothing"),
            "hf:org/nothing: holds no checkpoint (model.safetensors, pytorch_model.bin, the index of either, or "
            "model.json)");
  EXPECT_EQ(refusal("several"), "hf:org/several: holds 2 checkpoints; name one of them: a.safetensors, b.safetensors");
  EXPECT_EQ(refusal("good/other.safetensors"), "hf:org/good: has no file other.safetensors");
}

TEST_F(Hub, AFileMayBeNamed) {
  EXPECT_EQ(read_text(fetch("several/b.safetensors").path), "b");
  EXPECT_EQ(read_text(fetch("several@v1/a.safetensors").path), "a");
}

TEST_F(Hub, ShardsComeWithTheirIndex) {
  const HubFile index = fetch("shards");
  EXPECT_EQ(index.path.filename(), "model.safetensors.index.json");
  EXPECT_EQ(read_text(index.path.parent_path() / "one.safetensors"), "first shard");
  const fs::path nested = index.path.parent_path() / "parts" / "two.safetensors";
  EXPECT_EQ(read_text(nested), "second shard");
  EXPECT_TRUE(fs::read_symlink(nested).string().starts_with("../../../blobs/")) << fs::read_symlink(nested);
  const Environment offline("HF_HUB_OFFLINE", "1");
  EXPECT_EQ(fetch("shards").path, index.path);
  fs::remove(nested);
  EXPECT_NE(refusal("shards").find("HF_HUB_OFFLINE is set, and the cache"), std::string::npos);
}

TEST_F(Hub, NamesThatLeadOutOfTheCacheAreRefused) {
  EXPECT_EQ(refusal("escaping"), "hf:org/escaping: ../../../two.safetensors: is not a path inside the repository");
  EXPECT_EQ(refusal("traversal"),
            "hf:org/traversal: model.safetensors: the server gives no usable ETag for it: is this a Hugging Face hub?");
}

TEST_F(Hub, OfflineTheCacheAnswers) {
  const HubFile file = fetch("good");
  const size_t before = server.requests().size();
  const Environment offline("HF_HUB_OFFLINE", "yes");
  EXPECT_EQ(fetch("good").path, file.path);
  EXPECT_EQ(fetch("good", HubServer::kCommit).path, file.path);
  EXPECT_EQ(refusal("good", "v1"), "hf:org/good@v1: HF_HUB_OFFLINE is set, and the cache " +
                                       (server.home() / "hub").string() + " does not have it");
  EXPECT_EQ(server.requests().size(), before);
}

TEST_F(Hub, WithoutANetworkTheCacheAnswersToo) {
  const HubFile file = fetch("good");
  const Environment nowhere("HF_ENDPOINT", "http://127.0.0.1:9");  // the port of "discard"
  EXPECT_EQ(fetch("good").path, file.path);
  const std::string message = refusal("good", "v1");
  EXPECT_TRUE(message.starts_with("hf:org/good@v1: SITE cannot be reached (")) << message;
  EXPECT_TRUE(message.ends_with("), and the cache does not have it")) << message;
}

TEST_F(Hub, PythonsDownloadsAreUsed) {
  const fs::path cache = server.home() / "hub" / "models--org--stuck";
  for (const char* folder : {"blobs", "refs", "snapshots"}) fs::create_directories(cache / folder);
  fs::create_directories(cache / "snapshots" / HubServer::kCommit);
  std::ofstream(cache / "refs" / "main") << HubServer::kCommit;
  std::ofstream(cache / "blobs" / kSha256) << kModel;
  fs::create_symlink("../../blobs/" + kSha256, cache / "snapshots" / HubServer::kCommit / "model.safetensors");
  expect_whole(fetch("stuck"));
  EXPECT_EQ(server.requests("cdn").size(), 0u);
}

TEST(HubReference, IsReadOrRefused) {
  const auto parse = [](const char* text, const char* revision = "") {
    try {
      const HubReference r = parse_hub_reference(text, revision);
      return r.repository + " " + r.revision + " " + r.file;
    } catch (const Error&) {
      return std::string("refused");
    }
  };
  EXPECT_EQ(parse("hf:timm/resnet50.a1_in1k"), "timm/resnet50.a1_in1k main ");
  EXPECT_EQ(parse("hf:timm/resnet50.a1_in1k@v1"), "timm/resnet50.a1_in1k v1 ");
  EXPECT_EQ(parse("hf:a/b@v1/c/d.pth"), "a/b v1 c/d.pth");
  EXPECT_EQ(parse("hf:a/b/c.pth", "refs/pr/1"), "a/b refs/pr/1 c.pth");
  for (const char* text : {"hf:", "hf:a", "hf:a/", "hf:/b", "hf:../b", "hf:a/..", "hf:a/b@", "hf:a/b@../c", "hf:a/b/",
                           "hf:a/b/../c", "hf:a/b/./c", "hf:a/b c", "hf:a/b//c", "hf:.a/b", "hf:a/-b"})
    EXPECT_EQ(parse(text), "refused") << text;
  EXPECT_EQ(parse("hf:a/b@v1", "v2"), "refused");
  EXPECT_EQ(parse("hf:a/b", "/v2"), "refused");
}

TEST(HubSettings, FollowTheEnvironmentAsInPython) {
  std::vector<std::unique_ptr<Environment>> unset;
  for (const char* name : {"HF_ENDPOINT", "HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "HF_TOKEN", "HF_TOKEN_PATH"})
    unset.push_back(std::make_unique<Environment>(name, ""));
  const Environment home("HOME", "/nonexistent");
  const auto settings = [] { return HubSettings::from_environment(); };
  EXPECT_EQ(settings().endpoint, "https://huggingface.co");
  EXPECT_EQ(settings().cache, "/nonexistent/.cache/huggingface/hub");
  EXPECT_EQ(settings().token, "");
  {
    const Environment none("HOME", "");  // like a service: the home folder comes from the password database
    EXPECT_TRUE(settings().cache.is_absolute()) << settings().cache;
  }
  const Environment xdg("XDG_CACHE_HOME", "/x");
  EXPECT_EQ(settings().cache, "/x/huggingface/hub");
  const Environment hf("HF_HOME", "/h");
  EXPECT_EQ(settings().cache, "/h/hub");
  const Environment cache("HF_HUB_CACHE", "/c");
  EXPECT_EQ(settings().cache, "/c");
  const Environment mirror("HF_ENDPOINT", "https://mirror/");
  EXPECT_EQ(settings().endpoint, "https://mirror");
  const Environment strange("HF_ENDPOINT", "ftp://mirror");
  EXPECT_THROW(settings(), Error);
  const Environment split("HF_TOKEN", "two\nlines");
  EXPECT_THROW(settings(), Error);
}

}  // namespace
}  // namespace ferry
#endif
