// Weights packed once: a session that finds them packed computes the same bits, reads no raw weight, and writes
// nothing.
#include <ferry/ferry.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "converter/quantize/quantize.h"
#include "sdk/graph/session.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_store.h"
#include "tests/runtime/networks.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using Results = std::map<std::string, std::vector<float>>;

std::vector<float> numbers(uint32_t seed, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = noise(seed, static_cast<uint32_t>(i));
  return values;
}

// Every way in which constant weights are packed, on one input [1,12,12,32]: each is an output of its own.
class Packings {
 public:
  Packings() : x_(graph_->add_input("x", {1, 12, 12, 32}, fbs::Layout::Same)) {
    fbs::Conv2dT plain, strided, grouped, depthwise, dilated;
    strided.stride_h = strided.stride_w = 2;
    grouped.groups = 2;
    depthwise.groups = dilated.groups = 32;
    dilated.dilation_h = dilated.dilation_w = 2;
    conv("pointwise", plain, {48, 1, 1, 32});
    conv("plain", strided, {20, 3, 3, 32});
    conv("grouped", grouped, {24, 3, 3, 16});
    conv("winograd", plain, {32, 3, 3, 32});
    conv("depthwise", depthwise, {32, 5, 5, 1});
    conv("depthwise_dilated", dilated, {32, 3, 3, 1});
    conv("scale", depthwise, {32, 1, 1, 1});
    conv("panels", plain, {288, 5, 5, 32});
    fbs::ConvTranspose2dT apart, overlapping, single;
    apart.stride_h = apart.stride_w = 2;
    overlapping.stride_h = overlapping.stride_w = 2;
    conv("windows", apart, {16, 2, 2, 32});
    conv("transposed", overlapping, {8, 3, 3, 32});
    conv("transposed_single", single, {8, 3, 3, 32});
    linear("linear", x_, 40);
    fbs::ReduceT mean;
    mean.axes = {1, 2};
    linear("few_rows", graph_->add_op("mean", mean, {x_}), 1000);
  }

  const Graph& graph() const { return *graph_; }

  // Of linears and of the pointwise convolution, for which there are kernels.
  void quantize(void (*to_integers)(Graph&, const fbs::TensorT&)) {
    for (const int weight : rows_) to_integers(*graph_, graph_->at(weight));
  }

 private:
  template <typename Params>
  void conv(const std::string& name, const Params& params, std::vector<int32_t> shape) {
    size_t count = 1;
    for (const int32_t size : shape) count *= static_cast<size_t>(size);
    Shape w;
    for (const int32_t size : shape) w[w.rank++] = size;
    const Tensor weight = graph_->add_constant(name + ".weight", w, numbers(++seed_, count));
    const Tensor bias =
        graph_->add_constant(name + ".bias", {shape[0]}, numbers(++seed_, static_cast<size_t>(shape[0])));
    if (name == "pointwise") rows_.push_back(weight.index);
    graph_->add_output(name, graph_->add_op(name, params, {x_, weight, bias}), fbs::Layout::Same);
  }

  void linear(const std::string& name, const Tensor& input, int32_t outputs) {
    const Tensor weight =
        graph_->add_constant(name + ".weight", {outputs, 32}, numbers(++seed_, static_cast<size_t>(outputs) * 32));
    const Tensor bias = graph_->add_constant(name + ".bias", {outputs}, numbers(++seed_, static_cast<size_t>(outputs)));
    rows_.push_back(weight.index);
    graph_->add_output(name, graph_->add_op(name, fbs::LinearT(), {input, weight, bias}), fbs::Layout::Same);
  }

  std::unique_ptr<Graph> graph_ = std::make_unique<Graph>();
  Tensor x_;
  uint32_t seed_ = 0;
  std::vector<int> rows_;  // weights that integers may stand for
};

enum class Stored { Float32, Float16, Int8, Int4 };

std::vector<std::byte> packings(Stored stored) {
  Packings packings;
  if (stored == Stored::Int8) packings.quantize(quantize_to_int8);
  if (stored == Stored::Int4) packings.quantize(quantize_to_int4);
  const bool halves = stored == Stored::Float16;
  return pack(packings.graph(), {.weights = halves ? PackOptions::Weights::Float16 : PackOptions::Weights::Float32});
}

struct Outcome {
  Results results;
  std::vector<std::string> notes;
  uint64_t packed = 0;
};

Outcome run(ferry_model* model, const char* cache_dir) {
  ferry_session_options options = default_options();
  options.num_threads = 2;
  options.cache_dir = cache_dir;
  const SessionPtr session = make_session(model, options);
  fill_inputs(model, session.get());
  EXPECT_OK(ferry_session_run(session.get()));
  Outcome outcome{results(model, session.get()), {}, ferry_session_packed_bytes(session.get())};
  while (const char* note = ferry_session_report_note(session.get(), outcome.notes.size()))
    outcome.notes.push_back(note);
  return outcome;
}

Outcome run(std::span<const std::byte> blob, const char* cache_dir) {
  AlignedBytes bytes(blob);
  ferry_model* model = nullptr;
  EXPECT_OK(ferry_model_open_memory(bytes.data(), bytes.size(), &model));
  Outcome outcome = run(model, cache_dir);
  ferry_model_close(model);
  return outcome;
}

void expect_same_bits(const Results& expected, const Results& got) {
  ASSERT_EQ(expected.size(), got.size());
  for (const auto& [name, values] : expected) {
    ASSERT_EQ(values.size(), got.at(name).size()) << name;
    EXPECT_EQ(std::memcmp(values.data(), got.at(name).data(), values.size() * sizeof(float)), 0) << name;
  }
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

// The blob with its packed file inside, as `ferry pack --embed` makes it.
std::vector<std::byte> with_packed(const std::vector<std::byte>& blob, const std::string& packed) {
  Parts parts(blob);
  auto buffer = std::make_unique<fbs::BufferT>();
  buffer->offset = parts.data.size();
  buffer->size = packed.size();
  auto entry = std::make_unique<fbs::PackedT>();
  entry->target = "test";
  entry->buffer = static_cast<uint32_t>(parts.model.buffers.size());
  parts.model.buffers.push_back(std::move(buffer));
  parts.model.packed.push_back(std::move(entry));
  const auto bytes = std::as_bytes(std::span(packed));
  parts.data.insert(parts.data.end(), bytes.begin(), bytes.end());
  parts.data.resize((parts.data.size() + 16 + 63) / 64 * 64);
  return parts.assemble();
}

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
  const auto written = std::filesystem::last_write_time(file);

  const Outcome second = run(blob_, folder_.path().c_str());
  EXPECT_TRUE(second.notes.empty()) << second.notes[0];
  expect_same_bits(heap.results, second.results);
  EXPECT_EQ(second.packed, heap.packed);
  EXPECT_EQ(std::filesystem::last_write_time(file), written);

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

// What is wrong with a file costs a note, and nothing else.
TEST(PackedWeights, AreMadeAnewWhereTheFileIsDamaged) {
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

TEST(PackedWeights, StayOnTheHeapWhereTheFolderCannotBeWritten) {
  const auto blob = pack(Packings().graph());
  const ScratchFolder folder;
  const auto file = folder.write("file", "");
  const Outcome outcome = run(blob, file.c_str());
  ASSERT_EQ(outcome.notes.size(), 1u);
  expect_same_bits(run(blob, nullptr).results, outcome.results);
}

TEST(PackedWeights, AreNotKeptForABlobThatDoesNotTellWhatItsWeightsAre) {
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

#if defined(__linux__) && !defined(FERRY_EMULATED)
// Kilobytes of this process's mapping of a file that are resident.
size_t resident_kilobytes(const std::filesystem::path& file) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  size_t sum = 0;
  for (bool inside = false; std::getline(maps, line);) {
    if (line.find('-') != std::string::npos && line.find(" r") != std::string::npos)
      inside = line.ends_with(file.string());
    if (inside && line.starts_with("Rss:")) sum += std::stoul(line.substr(4));
  }
  return sum;
}

TEST(PackedWeights, AreReadInTheRawOnesStead) {
  Graph graph;
  const Tensor x = graph.add_input("x", {1, 64, 512}, fbs::Layout::Same);
  const Tensor weight = graph.add_constant("weight", {8192, 512}, numbers(1, size_t{8192} * 512));  // 16 MB
  graph.add_output("y", graph.add_op("y", fbs::LinearT(), {x, weight}), fbs::Layout::Same);
  const ScratchFolder folder;
  const auto blob = pack(graph);
  const auto file = folder.write("m.ferry", {reinterpret_cast<const char*>(blob.data()), blob.size()});
  const auto cache = folder.path() / "cache";
  for (const bool packed : {false, true}) {
    ferry_model* model = nullptr;
    ASSERT_OK(ferry_model_open(file.c_str(), &model));
    run(model, cache.c_str());
    const size_t resident = resident_kilobytes(file);
    if (packed) {
      EXPECT_LT(resident, 4200u);  // of the graph, and a huge page of the system's or two around it
    } else {
      EXPECT_GT(resident, 16000u);
    }
    ferry_model_close(model);
  }
}
#endif

}  // namespace
}  // namespace ferry::testing
