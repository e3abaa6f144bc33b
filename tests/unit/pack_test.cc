// Packing is deterministic and lossless.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>

#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/support/blobs.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using Bytes = std::vector<std::byte>;

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// input [1,3] + `constant` -> output
std::unique_ptr<Graph> sum_with(const std::function<Tensor(Graph&)>& constant) {
  auto graph = std::make_unique<Graph>();
  const Tensor input = graph->add_input("input", {1, 3}, fbs::Layout::Same);
  graph->add_output("output", graph->add_op("sum", fbs::BinaryT(), {input, constant(*graph)}), fbs::Layout::Same);
  return graph;
}

struct Opened {
  explicit Opened(const Bytes& blob) : bytes(blob) {
    const Status status = Model::open_memory(bytes.data(), bytes.size(), &model);
    if (!status.ok()) fail("%s", status.message().data());
  }
  AlignedBytes bytes;
  std::shared_ptr<Model> model;
};

TEST(Pack, GivesTheSameBytesForTheSameGraph) {
  const auto first = small_blobs(), second = small_blobs();
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].blob, second[i].blob) << first[i].name;
  const auto graph = small_classifier();
  EXPECT_EQ(pack(*graph), pack(*graph));
  EXPECT_EQ(pack(*graph), first[0].blob);
}

// The library's version, the compiler and the host must not change a blob. FNV-1a of the bytes.
TEST(Pack, GivesTheSameBytesOnEveryHost) {
  const auto hash = [](const Bytes& bytes) {
    uint64_t h = 0xcbf29ce484222325u;
    for (std::byte b : bytes) h = (h ^ static_cast<uint64_t>(b)) * 0x100000001b3u;
    return h;
  };
  const auto blobs = small_blobs();
  EXPECT_EQ(hash(blobs[0].blob), 0xe2b571151d28b21eu);
  EXPECT_EQ(hash(blobs[1].blob), 0x940485e54a52ef82u);
  EXPECT_EQ(hash(blobs[2].blob), 0x8bfe5c974c9955dcu);
  EXPECT_EQ(hash(blobs[3].blob), 0x73bbb16a22578ba2u);
  EXPECT_EQ(hash(blobs[4].blob), 0x4c7e640f69c4bf6fu);
  EXPECT_EQ(hash(blobs[5].blob), 0x94cecac45d85ae4cu);
}

TEST(Pack, KeepsTheGraphAndTheConstants) {
  const auto graph = small_classifier();
  const Opened opened(pack(*graph));
  fbs::GraphT packed;
  opened.model->graph().UnPackTo(&packed);
  ASSERT_EQ(packed.tensors.size(), graph->table.tensors.size());
  ASSERT_EQ(packed.operators.size(), graph->table.operators.size());
  EXPECT_EQ(packed.labels, graph->table.labels);
  EXPECT_EQ(packed.provenance->family, "test");
  EXPECT_EQ(packed.taps[0]->name, "block");
  EXPECT_EQ(packed.preprocess->mean, graph->table.preprocess->mean);
  for (const TensorId t : TensorIds(packed.tensors.size())) {
    EXPECT_EQ(opened.model->shape(t), graph->shape(t));
    ASSERT_EQ(opened.model->is_constant(t), graph->is_constant(t));
    if (!graph->is_constant(t)) continue;
    const Constant stored = graph->constant(t);
    const auto want = stored.bytes, got = opened.model->constant(t);
    ASSERT_EQ(want.size(), got.size());
    EXPECT_EQ(std::memcmp(want.data(), got.data(), want.size()), 0);
  }
}

TEST(Pack, AlignsSegmentsAndPadsWithZeros) {
  for (const Named& named : small_blobs()) {
    SCOPED_TRACE(named.name);
    BlobHeader header;
    std::memcpy(&header, named.blob.data(), sizeof header);
    EXPECT_EQ(header.data_offset % kAlignment, 0u);
    EXPECT_EQ(header.data_offset + header.data_bytes, named.blob.size());
    Parts parts(named.blob);
    ASSERT_GT(parts.model.buffers.size(), 1u);
    std::vector<bool> used(parts.data.size());
    for (const auto& buffer : parts.model.buffers) {
      EXPECT_EQ(buffer->offset % kAlignment, 0u);
      std::fill_n(used.begin() + static_cast<ptrdiff_t>(buffer->offset), buffer->size, true);
    }
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i]) {
        ASSERT_EQ(parts.data[i], std::byte{0}) << i;
      }
    }
    for (size_t i = header.graph_offset + header.graph_bytes; i < header.data_offset; ++i)
      ASSERT_EQ(named.blob[i], std::byte{0}) << i;
  }
}

TEST(Pack, NarrowsFloat64ToTheNearestFloat32) {
  const auto graph = sum_with([](Graph& g) {
    return g.add_constant("c", {3}, std::vector<double>{0.1, -1e-50, 1.0 / 3});
  });
  const Opened opened(pack(*graph));
  EXPECT_EQ(opened.model->tensor(tensor_at(1)).dtype(), fbs::DType::Float32);
  const auto bytes = opened.model->constant(tensor_at(1));
  ASSERT_EQ(bytes.size(), 12u);
  float got[3];
  std::memcpy(got, bytes.data(), sizeof got);
  EXPECT_EQ(got[0], 0.1f);
  EXPECT_EQ(got[1], -0.0f);
  EXPECT_EQ(got[2], 1.0f / 3);
}

TEST(Pack, RefusesANumberBeyondFloat32) {
  const auto graph = sum_with([](Graph& g) { return g.add_constant("big", {3}, std::vector<double>{0, 1e39, 0}); });
  EXPECT_EQ(message([&] { pack(*graph); }), "constant 'big': element 1 is 1e+39, beyond float32");
}

TEST(Pack, KeepsInfinities) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto graph = sum_with([&](Graph& g) { return g.add_constant("mask", {3}, std::vector<double>{0, -inf, inf}); });
  const Opened opened(pack(*graph));
  float got[3];
  std::memcpy(got, opened.model->constant(tensor_at(1)).data(), sizeof got);
  EXPECT_EQ(got[1], -std::numeric_limits<float>::infinity());
}

// One linear layer with one output channel and these weights.
std::unique_ptr<Graph> linear_with(std::vector<double> weights) {
  auto graph = std::make_unique<Graph>();
  const auto n = static_cast<int32_t>(weights.size());
  const Tensor input = graph->add_input("input", {1, n}, fbs::Layout::Same);
  const Tensor weight = graph->add_constant("fc.weight", {1, n}, std::move(weights));
  const Tensor bias = graph->add_constant("fc.bias", {1}, std::vector<double>{0.1});
  graph->add_output("output", graph->add_op("fc", fbs::LinearT(), {input, weight, bias}), fbs::Layout::Same);
  return graph;
}

const PackOptions kFloat16{PackOptions::Weights::Float16};

TEST(Pack, StoresWeightsInFloat16WhereAsked) {
  // float16 by hand: sign, 5 exponent bits, 10 fraction bits. Ties round to even; subnormals down to 2^-24.
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<double, uint16_t>> cases{{0.0, 0x0000},
                                                       {-0.0, 0x8000},
                                                       {1.0, 0x3c00},
                                                       {-2.0, 0xc000},
                                                       {1.0 / 3, 0x3555},
                                                       {65504, 0x7bff},
                                                       {65519.9, 0x7bff},
                                                       {1 + 1.0 / 2048, 0x3c00},
                                                       {1 + 3.0 / 2048, 0x3c02},
                                                       {1 + 1.0 / 2048 + 1e-12, 0x3c01},
                                                       {0x1p-14, 0x0400},
                                                       {0x1p-24, 0x0001},
                                                       {0x1p-25, 0x0000},
                                                       {0x1.8p-25, 0x0001},
                                                       {0x1.ff8p-15, 0x03ff},
                                                       {0x1.ffcp-15, 0x0400},
                                                       {1e-30, 0x0000},
                                                       {inf, 0x7c00},
                                                       {-inf, 0xfc00}};
  std::vector<double> weights;
  for (const auto& c : cases) weights.push_back(c.first);
  const Opened opened(pack(*linear_with(weights), kFloat16));
  EXPECT_EQ(opened.model->tensor(tensor_at(1)).dtype(), fbs::DType::Float16);
  EXPECT_EQ(opened.model->tensor(tensor_at(2)).dtype(), fbs::DType::Float32);  // the bias
  const auto bytes = opened.model->constant(tensor_at(1));
  ASSERT_EQ(bytes.size(), 2 * cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    uint16_t got;
    std::memcpy(&got, bytes.data() + 2 * i, 2);
    EXPECT_EQ(got, cases[i].second) << cases[i].first;
  }
}

TEST(Pack, RefusesAWeightBeyondFloat16) {
  EXPECT_EQ(message([&] {
              pack(*linear_with({0, -65520}), kFloat16);
            }),
            "constant 'fc.weight': element 1 is -65520, beyond float16");
}

TEST(Pack, StoresSmallerBlobsInFloat16) {
  for (const auto& graph : {small_classifier(), small_upscaler(), small_mixture(), small_decoder()}) {
    const auto half = pack(*graph, kFloat16), single = pack(*graph);
    EXPECT_LT(half.size(), single.size());
    const Opened opened(half);
    for (const auto* tensor : *opened.model->graph().tensors()) {
      const std::string name = text(tensor->name());
      const bool weight = tensor->buffer() != 0 && name.ends_with(".weight") && name != "body.1.weight";  // PReLU's
      EXPECT_EQ(tensor->dtype(), weight ? fbs::DType::Float16 : fbs::DType::Float32) << name;
    }
  }
}

TEST(Pack, RefusesAnInconsistentGraph) {
  const auto graph = small_classifier();
  graph->table.outputs.clear();
  EXPECT_EQ(message([&] { pack(*graph); }), "the converted graph is inconsistent: graph: no outputs");
}

class WriteFile : public ::testing::Test {
 protected:
  int entries() const {
    int n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++n;
    return n;
  }

  const ScratchFolder scratch_;
  const std::filesystem::path folder_ = scratch_.path();
};

TEST_F(WriteFile, ReplacesAFileAndLeavesNothingBeside) {
  const auto path = folder_ / "m.ferry";
  scratch_.write("m.ferry", "the former, longer contents");
  const std::string text = "new";
  write_file(path, std::as_bytes(std::span(text)));
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(WriteFile, GivesThePermissionsOfAnOrdinaryFile) {
  write_file(folder_ / "m.ferry", {});
  scratch_.write("other", "");
  struct stat ours, ordinary;
  ASSERT_EQ(::stat((folder_ / "m.ferry").c_str(), &ours), 0);
  ASSERT_EQ(::stat((folder_ / "other").c_str(), &ordinary), 0);
  EXPECT_EQ(ours.st_mode, ordinary.st_mode);
}

TEST_F(WriteFile, SaysWhyItCannot) {
  const std::string text = "x";
  const auto bytes = std::as_bytes(std::span(text));
  const auto missing = folder_ / "missing" / "m.ferry";
  EXPECT_EQ(message([&] { write_file(missing, bytes); }),
            "'" + missing.string() + "': cannot be written: No such file or directory");
  const auto busy = folder_ / "folder.ferry";
  std::filesystem::create_directory(busy);
  EXPECT_EQ(message([&] { write_file(busy, bytes); }),
            "'" + busy.string() + "': cannot be written: it is a folder: name a file in it");
  EXPECT_EQ(entries(), 1);  // the folder: no partial file is left
}

}  // namespace
}  // namespace ferry::testing
