// Certificates of a blob with two graphs: one per graph, verified in a chain.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "cli/parity/certify.h"
#include "cli/parity/generator.h"
#include "cli/parity/network.h"
#include "converter/pack/pack.h"
#include "sdk/model/mapping.h"
#include "tests/parity/backends.h"
#include "tests/parity/damaged_certificates.h"
#include "tests/support/blobs.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/task_networks.h"
#ifdef FERRY_HAS_CONVERTER
#include "models/families.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/shared.h"
#endif

namespace ferry::parity {
namespace {

using ferry::testing::AlignedBytes;
using ferry::testing::Parts;

// For the small network with prompts: its own results are the reference.
Fixture fixture_of(const std::filesystem::path& blob) {
  Fixture out;
  out.name = "small";
  out.library = "none 1.0";
  out.seed = 5;
  out.inputs.push_back({"pixel_values", {1, 3, 16, 16}, input_image({1, 3, 16, 16}, out.seed)});
  out.inputs.push_back({"point_coords", {1, 3, 2}, {1, 2, 3, 4, 5, 6}});
  const Network network(blob, out, cli::session_options(1));
  for (const auto& [name, computed] : network.tensors())
    out.entries.push_back(as_reference(name, computed, EntryKind::Output));
  return out;
}

const std::vector<std::byte>& certified_masks() {
  static const std::vector<std::byte> blob = [] {
    const ScratchFolder folder;
    const std::filesystem::path path = folder.path() / "masks.ferry", certified = folder.path() / "certified.ferry";
    const auto graph = ferry::testing::colour_masks();
    pack_file(*graph, {}, path);
    pack_file(*graph, {}, certified,
              [&](const std::filesystem::path& same) { return certificates_of(same, fixture_of(path)); });
    std::unique_ptr<Mapping> bytes;
    cli::check(Mapping::map_path(certified.c_str(), &bytes));
    return std::vector<std::byte>(bytes->bytes().begin(), bytes->bytes().end());
  }();
  return blob;
}

struct Verdict {
  ferry_status status = FERRY_OK;
  ferry_verification v{};
  std::string graph, stage;
};

Verdict verdict(const std::vector<std::byte>& blob, const char* graph = nullptr,
                const ferry_session_options* options = nullptr) {
  AlignedBytes bytes(blob);
  ferry_model* model = nullptr;
  Verdict out;
  out.v.struct_size = sizeof(out.v);
  EXPECT_EQ(ferry_model_open_memory(bytes.data(), bytes.size(), &model), FERRY_OK) << ferry_last_error();
  cli::ModelHandle handle(model), nested;
  if (graph != nullptr) {
    EXPECT_EQ(ferry_model_open_graph(model, graph, &model), FERRY_OK) << ferry_last_error();
    nested.reset(model);
  }
  out.status = ferry_model_verify(model, options, &out.v);
  out.graph = out.v.graph;
  out.stage = out.v.stage;
  return out;
}

fbs::CertificateT& prompted(Parts& parts) { return *parts.model.graphs[0]->certificate; }

TEST(CertificateOfGraphs, EachGraphHasOne) {
  const Parts parts(certified_masks());
  ASSERT_NE(parts.model.certificate, nullptr);
  ASSERT_NE(parts.model.graphs[0]->certificate, nullptr);
  const fbs::CertificateT& first = *parts.model.certificate;
  const fbs::CertificateT& second = *parts.model.graphs[0]->certificate;
  ASSERT_EQ(first.stages.size(), 1u);
  EXPECT_EQ(first.stages[0]->name, "image_embedding");
  EXPECT_TRUE(first.inputs[0]->values.empty()) << "it follows from the seed";
  EXPECT_EQ(second.stages.size(), 4u);
  ASSERT_EQ(second.inputs.size(), 5u);
  EXPECT_EQ(second.inputs[0]->from, "image_embedding");
  EXPECT_TRUE(second.inputs[0]->values.empty());
  EXPECT_EQ(second.inputs[1]->shape, (std::vector<int32_t>{1, 4, 2}));
  EXPECT_EQ(second.inputs[1]->values, (std::vector<float>{1, 2, 3, 4, 5, 6, 0, 0}));
  EXPECT_EQ(second.inputs[3]->values, std::vector<float>{0}) << "of 64 that are the same";
  EXPECT_EQ(second.fixture, "small");
}

TEST(CertificateOfGraphs, AreVerifiedInAChain) {
  for (const char* graph : {"", "prompt"}) {
    const Verdict all = verdict(certified_masks(), *graph != 0 ? graph : nullptr);
    ASSERT_EQ(all.status, FERRY_OK) << ferry_last_error();
    EXPECT_TRUE(all.v.passed) << all.graph << " " << all.stage << " " << all.v.error;
    EXPECT_EQ(all.v.stage_count, 5u);
  }
  ferry_session_options options = cli::session_options(1);
  options.backend = FERRY_BACKEND_GPU;
  options.gpu_required = true;
  for (const std::string& gpu : ferry::testing::test_gpus()) {
    options.gpu_device = gpu.c_str();
    const Verdict all = verdict(certified_masks(), nullptr, &options);
    ASSERT_EQ(all.status, FERRY_OK) << ferry_last_error();
    EXPECT_TRUE(all.v.passed) << gpu << " " << all.graph << " " << all.stage << " " << all.v.error;
  }
}

TEST(CertificateOfGraphs, NameTheFaultyGraph) {
  const auto with_wrong_sum = [](bool first) {
    Parts parts(certified_masks());
    fbs::GraphT& graph = first ? parts.model : *parts.model.graphs[0];
    for (const auto& op : graph.operators)
      if (auto* pool = op->params.AsPool2d()) pool->kind = fbs::PoolKind::Max;
    for (const auto& op : graph.operators)
      if (auto* sum = op->params.AsBinary(); sum != nullptr && !first) sum->kind = fbs::BinaryKind::Sub;
    return parts.assemble();
  };
  const Verdict first = verdict(with_wrong_sum(true)), second = verdict(with_wrong_sum(false));
  ASSERT_EQ(first.status, FERRY_OK) << ferry_last_error();
  EXPECT_FALSE(first.v.passed);
  EXPECT_EQ(first.graph, Parts(certified_masks()).model.name);
  EXPECT_EQ(first.stage, "image_embedding");
  ASSERT_EQ(second.status, FERRY_OK) << ferry_last_error();
  EXPECT_FALSE(second.v.passed);
  EXPECT_EQ(second.graph, "prompt");
  EXPECT_EQ(second.v.stage_count, 5u);
}

// As in blobs of earlier converters.
TEST(CertificateOfGraphs, OnlyTheFirstIsVerified) {
  Parts parts(certified_masks());
  parts.model.graphs[0]->certificate = nullptr;
  const Verdict first = verdict(parts.assemble());
  ASSERT_EQ(first.status, FERRY_OK) << ferry_last_error();
  EXPECT_TRUE(first.v.passed);
  EXPECT_EQ(first.v.stage_count, 1u);
}

// Any certificate in a file yields a status, never a crash.
TEST(CertificateOfGraphs, RefusedIfTheyDoNotMatchTheGraph) {
  struct Case {
    const char* name;
    void (*change)(Parts&);
  };
  const Case cases[] = {
      {"from an output that is none", [](Parts& p) { prompted(p).inputs[0]->from = "nowhere"; }},
      {"from a tap's or input's name", [](Parts& p) { prompted(p).inputs[0]->from = "input"; }},
      {"from an output, in the first graph",
       [](Parts& p) { p.model.certificate->inputs[0]->from = "image_embedding"; }},
      {"from an output, and values", [](Parts& p) { prompted(p).inputs[0]->values = {1}; }},
      {"from an output of another shape", [](Parts& p) { prompted(p).inputs[3]->from = "image_embedding"; }},
      {"from an output, as another shape",
       [](Parts& p) {
         prompted(p).inputs[0]->shape = {1, 8, 8, 3};
       }},
      {"from an output, as another rank",
       [](Parts& p) {
         prompted(p).inputs[0]->shape = {1, 4, 4};
       }},
      {"the first graph has none", [](Parts& p) { p.model.certificate = nullptr; }},
      {"shapes that do not go together",
       [](Parts& p) {
         prompted(p).inputs[1]->shape = {1, 0, 2};
       }},
      {"values that are too few", [](Parts& p) { prompted(p).inputs[1]->values.resize(3); }},
      {"an input too few", [](Parts& p) { prompted(p).inputs.pop_back(); }},
      {"no stages", [](Parts& p) { prompted(p).stages.clear(); }},
      {"a stage of the other graph", [](Parts& p) { prompted(p).stages[0]->name = "image_embedding"; }},
      {"an infinite bound", [](Parts& p) { prompted(p).stages[0]->bound = std::numeric_limits<float>::infinity(); }},
  };
  for (const Case& one : cases) {
    Parts parts(certified_masks());
    one.change(parts);
    const Verdict refused = verdict(parts.assemble());
    EXPECT_NE(refused.status, FERRY_OK) << one.name;
    EXPECT_FALSE(refused.v.passed) << one.name;
  }
}

TEST(CertificateOfGraphs, DamagedAtRandomNeverCrash) {
  EXPECT_GT(verified_when_damaged(certified_masks(), 3000), 100u) << "else the loop tried nothing";
}

#ifdef FERRY_HAS_CONVERTER

// Every stage of both graphs of a network with prompts fits in the room for certificates.
TEST(CertificateOfGraphs, CoverEveryStageOfSegmentAnything) {
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
  const std::filesystem::path folder = shared_dir() / "fixtures/hf_sam_tiny_box";
  const Fixture fixture = read_fixture(folder);
  const ScratchFolder scratch;
  make_checkpoint(folder / "manifest.json", scratch.path() / "model.safetensors");
  std::filesystem::copy(folder / "config.json", scratch.path() / "config.json");
  for (const bool keep_taps : {false, true}) {
    ConvertOptions options;
    options.checkpoint = scratch.path() / "model.safetensors";
    options.output = scratch.path() / "m.ferry";
    options.settings.set_flag("keep-taps", keep_taps);
    options.certify = [&](const std::filesystem::path& blob) { return certificates_of(blob, fixture); };
    convert(options);
    std::unique_ptr<Mapping> blob;
    cli::check(Mapping::map_path(options.output.c_str(), &blob));
    const Parts parts(blob->bytes());
    EXPECT_GT(parts.model.certificate->stages.size(), 3u);
    EXPECT_GT(parts.model.graphs[0]->certificate->stages.size(), 3u);
    size_t bytes = 0;
    for (const auto* certificate : {parts.model.certificate.get(), parts.model.graphs[0]->certificate.get()}) {
      flatbuffers::FlatBufferBuilder builder;
      builder.Finish(fbs::Certificate::Pack(builder, certificate));
      bytes += builder.GetSize();
    }
    EXPECT_LE(bytes, kMaxCertificateBytes);
    const cli::ModelHandle model = cli::open_model(options.output);
    ferry_verification v = {sizeof(v)};
    cli::check(ferry_model_verify(model.get(), nullptr, &v));
    EXPECT_TRUE(v.passed) << v.graph << " " << v.stage << " " << v.error;
    if (keep_taps) {
      EXPECT_EQ(v.stage_count, fixture.entries.size());
    }
  }
}

#endif

}  // namespace
}  // namespace ferry::parity
