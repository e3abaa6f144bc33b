// Weights are packed once on a GPU. A session that finds them packed computes the same bits, dispatches no packing
// kernel, and copies nothing if the device reads the file in place.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "sdk/model/packed_file.h"
#include "sdk/model/seeded.h"
#include "sdk/model/xxh64.h"
#include "tests/gpu/faults.h"
#include "tests/runtime/packings.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

// SwiftShader compiles so many kernels for seconds, so it runs only the first kind.
struct PackedCase {
  Stored stored;
  ferry_precision precision;
  bool swiftshader;
};
constexpr PackedCase kPackedCases[] = {{Stored::Float32, FERRY_PRECISION_FLOAT32, true},
                                       {Stored::Float16, FERRY_PRECISION_FLOAT16, false},
                                       {Stored::Int8, FERRY_PRECISION_FLOAT32, false},
                                       {Stored::Int4, FERRY_PRECISION_FLOAT16, false}};

class PackedOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
    gpu_ = test_gpus()[0];
  }

  ferry_session_options on(const std::string& gpu, const PackedCase& c, const char* cache_dir) const {
    ferry_session_options options = default_options();
    options.num_threads = 1;
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_required = true;
    options.gpu_retry = true;  // earlier tests may have lost the device
    options.gpu_device = gpu.c_str();
    options.gpu_cache_dir = verdicts_.path().c_str();
    options.precision = c.precision;
    options.cache_dir = cache_dir;
    return options;
  }

  // Packs, writes, reads and embeds.
  void expect_packed_once(const std::string& gpu, const PackedCase& c) const {
    const ScratchFolder folder;
    const auto blob = packings(c.stored);
    const Outcome here = run_session(blob, on(gpu, c, nullptr));
    EXPECT_TRUE(here.notes.empty()) << here.notes[0];
    const Outcome first = run_session(blob, on(gpu, c, folder.path().c_str()));
    EXPECT_TRUE(first.notes.empty()) << first.notes[0];
    expect_same_bits(here.results, first.results);
    EXPECT_EQ(first.packed, here.packed);
    ASSERT_EQ(files_in(folder.path()).size(), 1u);
    const auto file = files_in(folder.path())[0];
    EXPECT_GE(std::filesystem::file_size(file), here.packed);
    const auto written = inode_of(file);

    const Outcome second = run_session(blob, on(gpu, c, folder.path().c_str()));
    EXPECT_TRUE(second.notes.empty()) << second.notes[0];
    expect_same_bits(here.results, second.results);
    EXPECT_EQ(second.packed, here.packed);
    EXPECT_EQ(inode_of(file), written);

    const Outcome inside = run_session(with_packed(blob, read_text(file)), on(gpu, c, nullptr));
    EXPECT_TRUE(inside.notes.empty()) << inside.notes[0];
    expect_same_bits(here.results, inside.results);
    EXPECT_EQ(inside.packed, here.packed);

    // The file's contents are used: other values in it change the result.
    folder.write(file.filename(), with_zeros(read_text(file)));
    const Outcome zeros = run_session(blob, on(gpu, c, folder.path().c_str()));
    EXPECT_TRUE(zeros.notes.empty()) << zeros.notes[0];
    for (const auto& [name, values] : here.results) EXPECT_NE(values, zeros.results.at(name)) << name;
  }

  // A packed file whose weights are 0.
  static std::string with_zeros(std::string file) {
    PackedHeader header;
    std::memcpy(&header, file.data(), sizeof header);
    const size_t table = header.entries * sizeof(PackedEntry);
    std::fill(file.begin() + static_cast<ptrdiff_t>(sizeof header + table), file.end(), '\0');
    Xxh64 contents;
    for (size_t i = 0; i < header.entries; ++i) {
      PackedEntry entry;
      std::memcpy(&entry, file.data() + sizeof header + i * sizeof entry, sizeof entry);
      contents.update(std::as_bytes(std::span(file).subspan(entry.offset, entry.size)));
    }
    header.contents = contents.digest();
    header.checksum = 0;
    const std::string_view head(reinterpret_cast<const char*>(&header), sizeof header);
    header.checksum = fnv1a64({file.data() + sizeof header, table}, fnv1a64(head));
    std::memcpy(file.data(), &header, sizeof header);
    return file;
  }

  std::string gpu_;  // the first

 private:
  ScratchFolder verdicts_;
};

TEST_F(PackedOnGpu, GivesTheBitsOfWeightsPackedThere) {
  for (const std::string& gpu : test_gpus())
    for (const PackedCase& c : kPackedCases) {
      SCOPED_TRACE(gpu + ", stored " + std::to_string(static_cast<int>(c.stored)));
      if (gpu != "SwiftShader" || c.swiftshader) expect_packed_once(gpu, c);
    }
}

// A device that cannot read host memory in place gets copies.
TEST_F(PackedOnGpu, IsCopiedToADeviceThatImportsNothing) {
  Faults faults;
  faults.set_quirks(FAULT_LYING_IMPORT);
  expect_packed_once(gpu_, kPackedCases[0]);
  faults.expect_nothing_alive();
}

// A device that imports pages but reads other ones is detected.
TEST_F(PackedOnGpu, IsCopiedToADeviceThatReadsOtherPages) {
  const auto blob = packings(Stored::Float32);
  const ScratchFolder folder;
  const Outcome right = run_session(blob, on(gpu_, kPackedCases[0], folder.path().c_str()));  // verdicts are stored
  Faults faults;
  faults.set_quirks(FAULT_OTHER_PAGES);
  expect_same_bits(right.results, run_session(blob, on(gpu_, kPackedCases[0], folder.path().c_str())).results);
}

TEST_F(PackedOnGpu, IsRepackedIfTheFileIsDamaged) {
  const auto blob = packings(Stored::Float32);
  const ScratchFolder folder;
  const auto options = on(gpu_, kPackedCases[0], folder.path().c_str());
  const Outcome heap = run_session(blob, options);
  const auto file = files_in(folder.path())[0];
  const std::string good = read_text(file);
  for (const size_t size : {size_t{0}, size_t{100}, good.size() - 1}) {
    folder.write(file.filename(), good.substr(0, size));
    const Outcome repaired = run_session(blob, options);
    ASSERT_EQ(repaired.notes.size(), 1u);
    EXPECT_TRUE(repaired.notes[0].starts_with("packed weights: '")) << repaired.notes[0];
    expect_same_bits(heap.results, repaired.results);
    EXPECT_EQ(read_text(file), good);
  }
  // A file of a CPU, or of the other precision, does not match either.
  const Outcome other =
      run_session(with_packed(blob, good), on(gpu_, {Stored::Float32, FERRY_PRECISION_FLOAT16}, nullptr));
  ASSERT_EQ(other.notes.size(), 1u);
  EXPECT_NE(other.notes[0].find("packed for another"), std::string::npos) << other.notes[0];
}

TEST_F(PackedOnGpu, ReplacesReadsOfRawWeights) {
  const auto blob = pack(*large_linear());
  const ScratchFolder folder;
  const ferry_session_options options = on(gpu_, kPackedCases[0], folder.path().c_str());
  const Outcome packs = run_session(blob, options);
  expect_same_bits(packs.results, run_session(emptied(blob), options).results);
  EXPECT_EQ(run_session(emptied(blob), on(gpu_, kPackedCases[0], nullptr)).results.begin()->second.front(), 0);
}

#if defined(__linux__) && !defined(FERRY_EMULATED)
TEST_F(PackedOnGpu, RawWeightsLeaveMemory) {
  const auto blob = pack(*large_linear());
  const ScratchFolder folder;
  const auto file = folder.write("m.ferry", {reinterpret_cast<const char*>(blob.data()), blob.size()});
  ferry_model* model = nullptr;
  ASSERT_OK(ferry_model_open(file.c_str(), &model));
  run_session(model, on(gpu_, kPackedCases[0], nullptr));
  EXPECT_LT(resident_kilobytes(file), 4200u);  // the graph, and one or two huge pages around it
  ferry_model_close(model);
}
#endif

// Operators that run on the CPU use that CPU's file.
TEST_F(PackedOnGpu, LeavesTheCpuItsOwnFile) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 4, 128}, fbs::Layout::Same);
  const Tensor fine = graph.add_constant("fine", {128, 128}, numbers(1, 128 * 128));
  const Tensor coarse = graph.add_constant("coarse", {64, 128}, numbers(2, 64 * 128));
  const std::vector<uint8_t> nibbles(64 * 128 / 2, 0x5a);
  const std::vector<uint16_t> scales(64 * 128 / 64, 0x3e80);  // bfloat16's 0.25; in blocks of 64, which the GPU refuses
  graph.store_integers(graph.at(coarse.id).buffer, {.dtype = fbs::DType::Int4, .block = 64}, hold(nibbles),
                       hold(scales));
  const Tensor middle = graph.add_op("middle", fbs::LinearT(), {x, fine});
  graph.add_output("y", graph.add_op("y", fbs::LinearT(), {middle, coarse}), fbs::Layout::Same);
  const auto blob = pack(graph);
  const ScratchFolder folder;
  const Outcome here = run_session(blob, on(gpu_, kPackedCases[0], nullptr));
  for (int times = 0; times < 2; ++times) {  // writes, then maps
    const Outcome outcome = run_session(blob, on(gpu_, kPackedCases[0], folder.path().c_str()));
    EXPECT_TRUE(outcome.notes.empty()) << outcome.notes[0];
    expect_same_bits(here.results, outcome.results);
    EXPECT_EQ(files_in(folder.path()).size(), 2u);
  }
}

// The graphs of a blob share buffers, and their packed weights.
TEST_F(PackedOnGpu, IsSharedByTheGraphsOfABlob) {
  const auto owner = std::make_shared<const std::vector<float>>(numbers(1, 64 * 32));
  const Constant constant{owner, std::as_bytes(std::span(*owner))};
  const auto make = [&](Graph& graph, const char* name, int32_t rows) {
    graph.table.name = name;
    const Tensor x = graph.add_input("x", {1, rows, 32}, fbs::Layout::Same);
    const Tensor weight = graph.add_constant("weight", fbs::DType::Float32, {64, 32}, constant);
    graph.add_output("y", graph.add_op("y", fbs::LinearT(), {x, weight}), fbs::Layout::Same);
  };
  Graph first, second;
  make(first, "first", 5);
  make(second, "second", 6);
  first.add_graph(std::move(second));
  AlignedBytes blob(pack(first));
  ferry_model *model = nullptr, *other = nullptr;
  ASSERT_OK(ferry_model_open_memory(blob.data(), blob.size(), &model));
  ASSERT_OK(ferry_model_open_graph(model, "second", &other));
  const SessionPtr one = make_session(model, on(gpu_, kPackedCases[0], nullptr));
  const uint64_t bytes = ferry_session_packed_bytes(one.get());
  EXPECT_EQ(bytes, 64u * 32 * sizeof(float));
  const SessionPtr two = make_session(other, on(gpu_, kPackedCases[0], nullptr));
  EXPECT_EQ(ferry_session_packed_bytes(two.get()), bytes);
  ferry_model_close(other);
  ferry_model_close(model);
}

}  // namespace
}  // namespace ferry::testing
