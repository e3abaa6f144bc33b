// ferry pack: files that sessions find, blobs with embedded files, and messages if a target cannot be reached.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sdk/graph/session.h"
#include "sdk/model/packed_store.h"
#include "sdk/model/weight_check.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"
#include "tests/support/gpus.h"

namespace ferry::cli_test {
namespace {

namespace fs = std::filesystem;

class PackCommand : public ::testing::Test {
 protected:
  PackCommand() {
    const std::vector<std::byte> bytes = testing::small_blobs()[0].blob;
    folder_.write("m.ferry", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  Result pack(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "pack");
    return ferry(folder_.path(), arguments);
  }

  std::vector<std::string> names(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path() / folder)) names.push_back(entry.path().filename());
    return names;
  }

  // True if a session of this process packs nothing itself.
  bool finds_packed(const std::string& blob, const std::string& cache) const {
    std::shared_ptr<Model> model;
    EXPECT_TRUE(Model::open((folder_.path() / blob).c_str(), &model).ok());
    const std::string folder = cache.empty() ? "" : (folder_.path() / cache).string();
    SessionOptions options;
    options.cache_dir = folder.c_str();
    options.skip_weight_check = true;  // which leaves a record in the folder
    std::unique_ptr<Session> session;
    EXPECT_TRUE(Session::create(model, options, &session).ok());
    EXPECT_TRUE(session->computing().report().notes.empty());
    EXPECT_GT(model->packed().bytes(), 0u);
    return model->packed().heap_bytes() == 0;
  }

  ScratchFolder folder_;
};

// A packed file's name ends with the kernels' fingerprint.
TEST_F(PackCommand, BenchPrintsTheKernelsFingerprint) {
  fs::create_directory(folder_.path() / "cache");
  ASSERT_EQ(pack({"m.ferry", "-o", "cache"}).exit_code, 0);
  const std::string name = fs::path(names("cache").at(0)).stem();
  const Result bench = ferry(folder_.path(), {"bench", "m.ferry", "--runs", "1", "--json"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  const auto j = nlohmann::json::parse(bench.out);
  EXPECT_EQ(j["fingerprint"], name.substr(name.rfind('-') + 1));
  EXPECT_NE(j["kernels"], "");
}

TEST_F(PackCommand, WritesFilesThatSessionsFind) {
  fs::create_directories(folder_.path() / "cache");
  const Result result = pack({"m.ferry", "-o", "cache"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> before = names("cache");
  ASSERT_EQ(before.size(), 1u);
  EXPECT_NE(result.out.find(before[0]), std::string::npos) << result.out;
  EXPECT_TRUE(finds_packed("m.ferry", "cache"));
  EXPECT_EQ(names("cache"), before);
}

TEST_F(PackCommand, WritesAFileBesideTheBlob) {
  ASSERT_EQ(pack({"m.ferry"}).exit_code, 0);
  EXPECT_TRUE(fs::exists(folder_.path() / "m.this.packed"));
}

TEST_F(PackCommand, EmbedsThemIntoTheBlob) {
  EXPECT_FALSE(finds_packed("m.ferry", ""));
  const Result result = pack({"m.ferry", "--embed", "-o", "out.ferry"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(finds_packed("out.ferry", ""));
  EXPECT_EQ(names(".").size(), 2u) << "nothing but the two blobs";
  // Again: embedded files are replaced, and everything else has the same bytes.
  ASSERT_EQ(pack({"out.ferry", "--embed", "-o", "again.ferry"}).exit_code, 0);
  EXPECT_EQ(read_text(folder_.path() / "again.ferry"), read_text(folder_.path() / "out.ferry"));
  const Result inspected = ferry(folder_.path(), {"inspect", "out.ferry", "--json"});
  const auto j = nlohmann::json::parse(inspected.out);
  ASSERT_EQ(j["packed"].size(), 1u);
  EXPECT_EQ(j["packed"][0]["target"], "this");
}

TEST_F(PackCommand, EmbeddedFilesAreChecked) {
  ASSERT_EQ(pack({"m.ferry", "--embed", "-o", "out.ferry"}).exit_code, 0);
  std::shared_ptr<Model> model;
  ASSERT_TRUE(Model::open((folder_.path() / "out.ferry").c_str(), &model).ok());
  EXPECT_TRUE(model->weight_check().wait().ok());
  const fbs::Buffer& packed = *model->root().buffers()->Get(model->root().packed()->Get(0)->buffer());
  EXPECT_NE(packed.checksum(), 0u);
  std::string bytes = read_text(folder_.path() / "out.ferry");
  const size_t at = bytes.size() - static_cast<size_t>(packed.size()) / 2;
  bytes[at] = static_cast<char>(bytes[at] ^ 16);
  folder_.write("damaged.ferry", bytes);
  ASSERT_TRUE(Model::open((folder_.path() / "damaged.ferry").c_str(), &model).ok());
  const Status status = model->weight_check().wait();
  EXPECT_EQ(status.code(), FERRY_CORRUPT);
  EXPECT_EQ(status.message(), "the blob is damaged: 'packed weights' does not have the checksum that was written");
}

// A blob may embed files for a CPU and for a GPU; each finds its own.
TEST_F(PackCommand, PacksForAGpu) {
  if (testing::test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  const std::string gpu = testing::test_gpus()[0];
  const Result result = pack({"m.ferry", "--for", "this,gpu,gpu-f16", "--device", gpu, "--embed", "-o", "out.ferry"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(finds_packed("out.ferry", ""));
  std::shared_ptr<Model> model;
  ASSERT_TRUE(Model::open((folder_.path() / "out.ferry").c_str(), &model).ok());
  for (const ferry_precision precision : {FERRY_PRECISION_FLOAT32, FERRY_PRECISION_FLOAT16}) {
    SessionOptions options;
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_required = true;
    options.gpu_device = gpu.c_str();
    options.precision = precision;
    std::unique_ptr<Session> session;
    ASSERT_TRUE(Session::create(model, options, &session).ok());
    EXPECT_TRUE(session->computing().report().notes.empty()) << session->computing().report().notes[0];
  }
  EXPECT_REFUSED(pack({"m.ferry", "--for", "gpu", "--device", "none"}), "no GPU is called 'none'");
}

TEST_F(PackCommand, ReportsErrors) {
  EXPECT_REFUSED(pack({"m.ferry", "--embed"}), "name it with -o");
  EXPECT_REFUSED(pack({"m.ferry", "--for", "toaster"}), "'toaster' is no target");
  EXPECT_REFUSED(pack({"m.ferry", "--for", "arm64-cortex-a76"}), "name a ferry built for arm64 with --tool");
  EXPECT_REFUSED(pack({"m.ferry", "--for", "arm64-cortex-a76", "--tool", "m.ferry", "--emulator", "no-such-program"}),
                 "no-such-program cannot be started");
  EXPECT_REFUSED(pack({"m.ferry", "--for", "this,arm64-cortex-a76", "-o", "out"}), "2 targets need a folder");
  EXPECT_REFUSED(pack({"m.ferry", "--for", "this,arm64-cortex-a76", "--embed", "-o", "out.ferry"}), "with --tool");
  EXPECT_EQ(names("."), std::vector<std::string>{"m.ferry"}) << "no parts of what did not come to be";
  EXPECT_REFUSED(pack({"missing.ferry"}), "cannot be opened");
  EXPECT_REFUSED(pack({"m.ferry", "-o", "no/such/folder/out"}), "cannot be written");
}

}  // namespace
}  // namespace ferry::cli_test
