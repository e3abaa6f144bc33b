// Damaged weights are found by the first session of a model, once a file.
#include "sdk/model/weight_check.h"

#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "converter/pack/pack.h"
#include "sdk/model/checked_files.h"
#include "sdk/model/model.h"
#include "sdk/model/xxh64.h"
#include "tests/runtime/packings.h"
#include "tests/support/blobs.h"
#include "tests/support/language_model.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

struct Close {
  void operator()(ferry_model* model) const { ferry_model_close(model); }
  void operator()(ferry_session* session) const { ferry_session_close(session); }
};
using Handle = std::unique_ptr<ferry_model, Close>;

std::vector<std::byte> with_flipped_bit(std::vector<std::byte> blob, const Parts& parts, size_t buffer, size_t bit) {
  std::byte& damaged = blob[blob.size() - parts.data.size() + parts.model.buffers[buffer]->offset + bit / 8];
  damaged ^= static_cast<std::byte>(1 << bit % 8);
  return blob;
}

// x [1,600] -> y [1,600] -> z [1,600]: 2.9 MB of weights, which are checked in a thread.
std::vector<std::byte> large_blob() {
  constexpr int kSide = 600;
  Graph graph;
  Tensor x = graph.add_input("x", {1, kSide}, fbs::Layout::Same);
  for (const char* name : {"first", "second"}) {
    std::vector<float> values;
    for (uint32_t i = 0; i < kSide * kSide; ++i) values.push_back(noise(3, i));
    const Tensor weight = graph.add_constant(std::string(name) + ".weight", {kSide, kSide}, values);
    x = graph.add_op(name, fbs::LinearT(), {x, weight});
  }
  graph.add_output("z", x, fbs::Layout::Same);
  return pack(graph, {});
}

class WeightChecks : public ::testing::Test {
 protected:
  void write(const std::vector<std::byte>& blob) {
    std::ofstream(path(), std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(blob.data()), static_cast<std::streamsize>(blob.size()));
  }
  std::string path() const { return folder_.path() / "m.ferry"; }

  // What a session that runs until the check is complete ends with.
  ferry_status run(bool skip = false, bool waits = true) {
    ferry_model* opened = nullptr;
    EXPECT_EQ(ferry_model_open(path().c_str(), &opened), FERRY_OK) << ferry_last_error();
    const Handle model(opened);
    ferry_session_options options = default_options();
    options.cache_dir = cache_.path().c_str();
    options.skip_weight_check = skip;
    ferry_session* created = nullptr;
    ferry_status status = ferry_session_create(opened, &options, &created);
    const std::unique_ptr<ferry_session, Close> session(created);
    if (status == FERRY_OK && waits) status = ferry_model_finish_check(opened);
    if (status == FERRY_OK) return ferry_session_run(created);
    if (created != nullptr) {
      EXPECT_EQ(ferry_session_run(created), status);
    }
    return status;
  }

  size_t records() const {
    size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(cache_.path()))
      count += file.path().filename().string().starts_with("checked-");
    return count;
  }

  ScratchFolder folder_, cache_;
};

TEST_F(WeightChecks, FindOneBitOfAnyConstant) {
  for (const Named& network : small_blobs()) {
    SCOPED_TRACE(network.name);
    const Parts parts(network.blob);
    write(network.blob);
    EXPECT_EQ(run(), FERRY_OK) << ferry_last_error();
    for (size_t buffer = 1; buffer < parts.model.buffers.size(); ++buffer) {
      const fbs::BufferT& b = *parts.model.buffers[buffer];
      if (b.checksum == 0) continue;
      write(with_flipped_bit(network.blob, parts, buffer, (buffer * 37) % (8 * b.size)));
      EXPECT_EQ(run(), FERRY_CORRUPT) << "buffer " << buffer;
      EXPECT_NE(std::string(ferry_last_error()).find("does not have the checksum that was written"), std::string::npos)
          << ferry_last_error();
    }
  }
}

TEST_F(WeightChecks, FindOneBitOfTheText) {
  const std::vector<std::byte> blob = pack(*small_language_model());
  Parts parts(blob);
  const auto text = std::as_bytes(std::span(parts.model.text));
  const auto found = std::search(blob.begin(), blob.end(), text.begin(), text.end());
  ASSERT_NE(found, blob.end());
  write(blob);
  EXPECT_EQ(run(), FERRY_OK) << ferry_last_error();
  for (const size_t byte : {size_t{0}, text.size() / 3, text.size() - 1}) {
    std::vector<std::byte> damaged = blob;
    damaged[static_cast<size_t>(found - blob.begin()) + byte] ^= std::byte{32};
    write(damaged);
    EXPECT_EQ(run(), FERRY_CORRUPT) << byte;
    EXPECT_NE(std::string(ferry_last_error()).find("'tokenizer and chat template'"), std::string::npos)
        << ferry_last_error();
  }
  // Blobs of older converters have no checksum of it.
  parts.model.text_checksum = 0;
  parts.model.text[parts.model.text.size() / 3] ^= 32;
  write(parts.assemble());
  EXPECT_EQ(run(), FERRY_OK) << ferry_last_error();
}

TEST_F(WeightChecks, LookAtAFileOnce) {
  const std::vector<std::byte> blob = large_blob();
  write(blob);
  EXPECT_EQ(run(), FERRY_OK) << ferry_last_error();
  EXPECT_EQ(records(), 1u);
  EXPECT_EQ(run(), FERRY_OK);
  // A file that was written again is another one.
  write(with_flipped_bit(blob, Parts(blob), 2, 9000));
  EXPECT_EQ(run(), FERRY_CORRUPT);
  EXPECT_NE(std::string(ferry_last_error()).find("'second.weight'"), std::string::npos) << ferry_last_error();
  EXPECT_EQ(run(), FERRY_CORRUPT) << "a damaged file has no record";
  EXPECT_EQ(run(/*skip=*/true, /*waits=*/false), FERRY_OK);
}

TEST_F(WeightChecks, AreMadeOfMemoryAndOfOlderBlobs) {
  const std::vector<std::byte> blob = large_blob();
  Parts parts(blob);
  AlignedBytes damaged(with_flipped_bit(blob, parts, 1, 0));
  ferry_model* opened = nullptr;
  ASSERT_EQ(ferry_model_open_memory(damaged.data(), damaged.size(), &opened), FERRY_OK);
  const Handle model(opened);
  EXPECT_EQ(ferry_model_finish_check(opened), FERRY_CORRUPT);
  EXPECT_EQ(ferry_model_finish_check(opened), FERRY_CORRUPT);
  // Without checksums there is nothing to compare with.
  for (const auto& buffer : parts.model.buffers) buffer->checksum = 0;
  write(with_flipped_bit(parts.assemble(), parts, 1, 0));
  EXPECT_EQ(run(), FERRY_OK);
}

// What has a record is not read: damage that the record does not know of stays unseen.
TEST_F(WeightChecks, ARecordStandsForThem) {
  std::vector<std::byte> blob = large_blob();
  const Parts parts(blob);
  write(with_flipped_bit(blob, parts, 2, 9000));
  Xxh64 checksums;
  for (const auto& buffer : parts.model.buffers)
    if (buffer->checksum != 0) checksums.update(std::as_bytes(std::span(&buffer->checksum, 1)));
  std::unique_ptr<Mapping> mapping;
  ASSERT_TRUE(Mapping::map_path(path().c_str(), &mapping).ok());
  remember_checked(cache_.path(), *mapping->file(), checksums.digest());
  EXPECT_EQ(run(), FERRY_OK);
  remember_checked(cache_.path(), *mapping->file(), checksums.digest() + 1);
  EXPECT_EQ(run(), FERRY_CORRUPT) << "of another blob";
  remember_checked(cache_.path(), *mapping->file(), checksums.digest());
  for (const auto& file : std::filesystem::directory_iterator(cache_.path()))
    std::filesystem::permissions(file, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  EXPECT_EQ(run(), FERRY_CORRUPT) << "anybody may have written it";
  std::filesystem::remove_all(cache_.path());
  EXPECT_EQ(run(), FERRY_CORRUPT);
}

// A run under way delays the thread, but neither the small check without one, nor who waits for the result.
TEST_F(WeightChecks, CompleteBesideARun) {
  for (const std::vector<std::byte>& blob : {large_blob(), small_blobs().front().blob}) {
    const Parts parts(blob);
    size_t buffer = 1;
    while (parts.model.buffers.at(buffer)->checksum == 0) ++buffer;
    write(with_flipped_bit(blob, parts, buffer, 0));
    std::shared_ptr<Model> model;
    ASSERT_TRUE(Model::open(path().c_str(), &model).ok());
    const WeightCheck::DuringRun during(model->weight_check());
    model->weight_check().begin(nullptr);
    EXPECT_EQ(model->weight_check().wait().code(), FERRY_CORRUPT);
  }
}

// A model that is closed at once ends its check.
TEST_F(WeightChecks, EndWithTheModel) {
  write(large_blob());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(false, /*waits=*/false), FERRY_OK);
}

}  // namespace
}  // namespace ferry::testing
