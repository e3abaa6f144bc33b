// Weights are packed once. A session that finds them packed computes the same bits, reads no raw weights and writes
// nothing.
#include <ferry/ferry.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "sdk/graph/session.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_store.h"
#include "tests/runtime/packings.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

ferry_session_options cached(const char* cache_dir) {
  ferry_session_options options = default_options();
  options.num_threads = 2;
  options.cache_dir = cache_dir;
  return options;
}

Outcome run(std::span<const std::byte> blob, const char* cache_dir) { return run_session(blob, cached(cache_dir)); }

class PackedOnce : public ::testing::TestWithParam<Stored> {
 protected:
  std::vector<std::byte> blob_ = packings(GetParam());
  ScratchFolder folder_;
};

TEST_P(PackedOnce, GivesTheBitsOfWeightsPackedHere) {
  const Outcome heap = run(blob_, nullptr);
  EXPECT_TRUE(heap.notes.empty());
  const Outcome first = run(blob_, folder_.path().c_str());
  EXPECT_TRUE(first.notes.empty()) << first.notes[0];
  expect_same_bits(heap.results, first.results);
  EXPECT_EQ(first.packed, heap.packed);
  ASSERT_EQ(files_in(folder_.path()).size(), 1u);
  const auto file = files_in(folder_.path())[0];
  const auto written = inode_of(file);

  const Outcome second = run(blob_, folder_.path().c_str());
  EXPECT_TRUE(second.notes.empty()) << second.notes[0];
  expect_same_bits(heap.results, second.results);
  EXPECT_EQ(second.packed, heap.packed);
  EXPECT_EQ(inode_of(file), written);

  const Outcome inside = run(with_packed(blob_, read_text(file)), nullptr);
  EXPECT_TRUE(inside.notes.empty()) << inside.notes[0];
  expect_same_bits(heap.results, inside.results);
  EXPECT_EQ(inside.packed, heap.packed);
}

TEST_P(PackedOnce, LeavesNothingOnTheHeap) {
  AlignedBytes bytes(blob_);
  for (int times = 0; times < 2; ++times) {  // writes, then maps
    std::shared_ptr<Model> model;
    ASSERT_TRUE(Model::open_memory(bytes.data(), bytes.size(), &model).ok());
    SessionOptions options;
    options.cache_dir = folder_.path().c_str();
    std::unique_ptr<Session> session, another;
    ASSERT_TRUE(Session::create(model, options, &session).ok());
    ASSERT_TRUE(Session::create(model, options, &another).ok());
    EXPECT_EQ(model->packed().heap_bytes(), 0u);
    EXPECT_GT(model->packed().bytes(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Runtime, PackedOnce,
                         ::testing::Values(Stored::Float32, Stored::Float16, Stored::Int8, Stored::Int4));

// A damaged file costs only a note.
TEST(PackedWeights, AreRepackedIfTheFileIsDamaged) {
  const auto blob = pack(Packings().graph());
  const ScratchFolder folder;
  const Outcome heap = run(blob, folder.path().c_str());
  const auto file = files_in(folder.path())[0];
  const std::string good = read_text(file);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, good.size() - 1}) {
    folder.write(file.filename(), good.substr(0, size));
    const Outcome repaired = run(blob, folder.path().c_str());
    ASSERT_EQ(repaired.notes.size(), 1u);
    EXPECT_TRUE(repaired.notes[0].starts_with("packed weights: '")) << repaired.notes[0];
    expect_same_bits(heap.results, repaired.results);
    EXPECT_EQ(read_text(file), good);
    EXPECT_TRUE(run(blob, folder.path().c_str()).notes.empty());
  }
  std::string damaged = good;
  damaged[20] ^= 1;
  const Outcome inside = run(with_packed(blob, damaged), nullptr);
  ASSERT_EQ(inside.notes.size(), 1u);
  expect_same_bits(heap.results, inside.results);
}

TEST(PackedWeights, StayOnTheHeapIfTheFolderIsReadOnly) {
  const auto blob = pack(Packings().graph());
  const ScratchFolder folder;
  const auto file = folder.write("file", "");
  const Outcome outcome = run(blob, file.c_str());
  ASSERT_EQ(outcome.notes.size(), 1u);
  expect_same_bits(run(blob, nullptr).results, outcome.results);
}

TEST(PackedWeights, AreNotCachedForABlobWithoutAHash) {
  Parts old(pack(Packings().graph()));
  old.model.content.clear();
  const ScratchFolder folder;
  const Outcome outcome = run(old.assemble(), folder.path().c_str());
  ASSERT_EQ(outcome.notes.size(), 1u);
  EXPECT_NE(outcome.notes[0].find("SHA-256"), std::string::npos) << outcome.notes[0];
  EXPECT_TRUE(files_in(folder.path()).empty());
}

TEST(PackedWeights, OfTwoProcessesThatStartAtOnceAreSound) {
  const auto blob = pack(Packings().graph());
  const ScratchFolder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      AlignedBytes bytes(blob);
      std::shared_ptr<Model> model;
      SessionOptions options;
      options.num_threads = 1;
      options.cache_dir = folder.path().c_str();
      std::unique_ptr<Session> session;
      const bool fine = Model::open_memory(bytes.data(), bytes.size(), &model).ok() &&
                        Session::create(model, options, &session).ok() && session->run().ok();
      _exit(fine ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(files_in(folder.path()).size(), 1u);
  const Outcome after = run(blob, folder.path().c_str());
  EXPECT_TRUE(after.notes.empty()) << after.notes[0];
  expect_same_bits(run(blob, nullptr).results, after.results);
}

TEST(PackedWeights, ReplaceReadsOfRawWeights) {
  const auto blob = pack(*large_linear());
  const ScratchFolder folder;
  const Outcome packs = run(blob, folder.path().c_str());
  expect_same_bits(packs.results, run(emptied(blob), folder.path().c_str()).results);
  EXPECT_EQ(run(emptied(blob), nullptr).results.begin()->second.front(), 0);
}

#if defined(__linux__) && !defined(FERRY_EMULATED)
TEST(RawWeights, LeaveMemoryOnceTheyArePacked) {
  const auto blob = pack(*large_linear());
  const ScratchFolder folder;
  const auto file = folder.write("m.ferry", {reinterpret_cast<const char*>(blob.data()), blob.size()});
  std::shared_ptr<Model> model;
  ASSERT_TRUE(Model::open(file.c_str(), &model).ok());
  const auto sum = [&] {
    unsigned all = 0;
    for (const TensorId t : model->tensors())
      for (const std::byte byte : model->constant(t)) all += std::to_integer<unsigned>(byte);
    return all;
  };
  const unsigned before = sum();
  EXPECT_GT(resident_kilobytes(file), 16000u);
  std::unique_ptr<Session> session;
  ASSERT_TRUE(Session::create(model, {}, &session).ok());
  EXPECT_LT(resident_kilobytes(file), 4200u);  // the graph, and one or two huge pages around it
  EXPECT_EQ(sum(), before) << "they are read again where somebody asks";
}
#endif

}  // namespace
}  // namespace ferry::testing
