// Compares converted networks with the framework's results, tensor by tensor, and proves that the comparison catches
// the mistakes that a converter can make.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "cli/parity/network.h"
#include "cli/parity/report.h"
#include "converter/checkpoint/mapped_file.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/export/export.h"
#include "converter/pack/pack.h"
#include "models/families.h"
#include "sdk/model/model.h"
#include "tests/parity/backends.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/fixtures.h"
#include "tests/support/scratch_folder.h"
#if FERRY_GPU
#include "tests/parity/forced_float16.h"
#endif

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;

fs::path fixture_folder(const std::string& name) { return shared_dir() / "fixtures" / name; }

#define SKIP_WITHOUT_FIXTURES() \
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)"

Comparison compare_blob(const fs::path& blob, const Fixture& fixture) {
  const Network network(blob, fixture, cli::session_options(1));
  return compare(fixture, network.tensors());
}

// The checkpoint, the blobs and the CPU results of one network. Its tests share them, because ctest runs them in one
// process (cmake/tests.cmake).
struct SharedNetwork {
  std::string name;
  ScratchFolder folder;
  std::unique_ptr<Network> on_cpu[2] = {};  // of the release blob, and with all taps
};

class Family : public ::testing::TestWithParam<ParityFixture> {
 protected:
  void SetUp() override {
    if (row().folder().empty() || (!row().weights.empty() && row().weights_file().empty())) GTEST_SKIP() << kNoFixture;
  }

  const ParityFixture& row() const { return GetParam(); }

  SharedNetwork& shared() const {
    static std::unique_ptr<SharedNetwork> network;
    if (network == nullptr || network->name != row().name) network.reset(new SharedNetwork{row().name, {}});
    return *network;
  }
  const fs::path& folder() const { return shared().folder.path(); }

  fs::path checkpoint() const {
    if (!row().weights.empty()) return row().weights_file();
    const fs::path made = folder() / "model.safetensors", config = row().folder() / "config.json";
    if (fs::exists(made)) return made;
    make_checkpoint(row().folder() / "manifest.json", made);
    if (row().model.empty() && fs::exists(config)) fs::copy(config, folder() / "config.json");
    return made;
  }

  fs::path convert_fixture(bool keep_taps) const {
    const fs::path blob = folder() / (keep_taps ? "taps.ferry" : "release.ferry");
    if (fs::exists(blob)) return blob;
    ConvertOptions options = row().convert_options(checkpoint());
    options.settings.set_flag("keep-taps", keep_taps);
    options.output = blob;
    const Conversion conversion = convert(families(), options);
    if (!row().variant.empty()) {
      EXPECT_EQ(conversion.variant, row().variant);
    }
    return blob;
  }

  const Network& on_cpu(bool keep_taps) const {
    std::unique_ptr<Network>& run = shared().on_cpu[keep_taps ? 1 : 0];
    if (run == nullptr) {
      const fs::path blob = convert_fixture(keep_taps);
      run = std::make_unique<Network>(blob, read_fixture(row().folder()), cli::session_options(1));
    }
    return *run;
  }
};

TEST_P(Family, EveryTapIsInBounds) {
  const Fixture fixture = read_fixture(row().folder());
  const Comparison comparison = compare(fixture, on_cpu(/*keep_taps=*/true).tensors());
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  std::set<std::string> compared;
  for (const Row& row : comparison.rows) compared.insert(row.module);
  for (const std::string& name : row().taps) EXPECT_TRUE(compared.contains(name)) << name;
  if (!row().taps.empty()) return;
  EXPECT_EQ(comparison.not_in_blob, std::vector<std::string>()) << "with --keep-taps a blob holds every tap";
  EXPECT_EQ(comparison.rows.size(), fixture.entries.size());
}

TEST_P(Family, ReleaseBlobHoldsEveryBlockInBounds) {
  const Fixture fixture = read_fixture(row().folder());
  const Comparison comparison = compare(fixture, on_cpu(/*keep_taps=*/false).tensors());
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  std::set<std::string> compared;
  for (const Row& row : comparison.rows) compared.insert(row.module);
  for (const std::string& block : row().blocks) EXPECT_TRUE(compared.contains(block)) << block;
  for (const Entry& entry : fixture.entries) {
    if (entry.kind == EntryKind::Output) {
      EXPECT_TRUE(compared.contains(entry.module)) << entry.name;
    }
  }
}

TEST_P(Family, ReleaseBlobExportsTheCheckpoint) {
  const fs::path from = checkpoint(), to = folder() / "exported";
  export_checkpoint(convert_fixture(false), to);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(to))
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(to));
  EXPECT_NE(std::find(files.begin(), files.end(), from.filename()), files.end());
  for (const fs::path& file : files) {
    const auto was = MappedFile::open(from.parent_path() / file), is = MappedFile::open(to / file);
    EXPECT_TRUE(std::equal(was->bytes().begin(), was->bytes().end(), is->bytes().begin(), is->bytes().end())) << file;
  }
  fs::remove_all(to);
}

class FamilyOnGpus : public Family {};

TEST_P(FamilyOnGpus, EveryGpuComputesTheSame) {
  expect_every_gpu_computes_the_same([this](bool keep_taps) { return convert_fixture(keep_taps); },
                                     [this](bool keep_taps) -> const Network& { return on_cpu(keep_taps); },
                                     read_fixture(row().folder()), row().gpu);
}

// float16 arithmetic on this CPU, judged like `ferry parity --precision f16`.
class FamilyInFloat16 : public Family {};

TEST_P(FamilyInFloat16, CpuStaysWithinTheBoundsOfFloat16) {
  ferry_session_options options = cli::session_options(1);
  options.precision = FERRY_PRECISION_FLOAT16;
  const fs::path blob = convert_fixture(/*keep_taps=*/false);
  const Fixture fixture = read_fixture(row().folder());
  const Network network(blob, fixture, options);
  if (network.report().precision != FERRY_PRECISION_FLOAT16) GTEST_SKIP() << "this CPU has no float16 arithmetic";
  const Comparison comparison = judge(blob, fixture, network.tensors(), options);
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  EXPECT_GE(comparison.rows.size(), row().blocks.size());
}

// One network of depthwise convolutions, one of residual blocks, one of attention.
std::vector<ParityFixture> run_in_float16() {
  std::vector<ParityFixture> rows = parity_fixtures();
  std::erase_if(rows, [](const ParityFixture& row) {
    return row.name != "timm_mobilenetv2_100" && row.name != "timm_resnet50_a1_in1k" &&
           row.name != "timm_vit_small_patch16_224";
  });
  return rows;
}

#if FERRY_GPU
// float16 products on a GPU, which only tuning would choose.
class FamilyInFloat16OnAGpu : public Family {};

TEST_P(FamilyInFloat16OnAGpu, StaysWithinTheBoundsOfFloat16) {
  if (ferry::testing::test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver";
  const std::string gpu = ferry::testing::test_gpus()[0];  // lavapipe has float16 arithmetic
  std::shared_ptr<gpu::Device> device;                     // shared by sessions while it lives
  ASSERT_TRUE(gpu::Device::open(gpu.c_str(), nullptr, false, &device).ok());
  ASSERT_TRUE(device->limits().float16_arithmetic);
  const fs::path blob = convert_fixture(/*keep_taps=*/false);
  const std::set<gpu::Variant> forced = force_float16s(*open_blob(blob), *device);
  expect_gpu_computes_the_same(gpu, blob, on_cpu(/*keep_taps=*/false), read_fixture(row().folder()),
                               Precision::Float16);
  // Only variants that a session uses are judged; with taps it may use fewer.
  size_t right = 0;
  for (const gpu::Variant& variant : forced) {
    const gpu::Pipelines::Verdict verdict = device->pipelines().verdict(variant);
    EXPECT_NE(verdict, gpu::Pipelines::Verdict::Wrong) << to_string(variant);
    right += verdict == gpu::Pipelines::Verdict::Right ? 1 : 0;
  }
  EXPECT_GE(right, 3u);
}

// One network of depthwise convolutions, one of attention; a ResNet-50 in float16 takes lavapipe too long.
std::vector<ParityFixture> run_in_float16_on_a_gpu() {
  std::vector<ParityFixture> rows = run_in_float16();
  std::erase_if(rows, [](const ParityFixture& row) { return row.name == "timm_resnet50_a1_in1k"; });
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Fixtures, FamilyInFloat16OnAGpu, ::testing::ValuesIn(run_in_float16_on_a_gpu()),
                         [](const auto& tested) { return tested.param.name; });
#endif

std::vector<ParityFixture> run_on_gpus() {
  std::vector<ParityFixture> rows = parity_fixtures();
  std::erase_if(rows, [](const ParityFixture& row) { return row.gpu == ParityFixture::Gpu::None; });
  return rows;
}

const auto kName = [](const auto& tested) { return tested.param.name; };
INSTANTIATE_TEST_SUITE_P(Fixtures, Family, ::testing::ValuesIn(parity_fixtures()), kName);
INSTANTIATE_TEST_SUITE_P(Fixtures, FamilyInFloat16, ::testing::ValuesIn(run_in_float16()), kName);
INSTANTIATE_TEST_SUITE_P(Fixtures, FamilyOnGpus, ::testing::ValuesIn(run_on_gpus()), kName);

// ---- float16 --------------------------------------------------------------------------------------------------------

std::vector<std::byte> weight_segments(const std::vector<std::byte>& blob) {
  BlobHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  return {blob.begin() + static_cast<std::ptrdiff_t>(header.data_offset), blob.end()};
}

std::vector<std::byte> convert_mobilenet(const fs::path& checkpoint) {
  ConvertOptions options;
  options.checkpoint = checkpoint;
  options.settings.set("model", "mobilenetv2_100");
  return pack(*convert_to_graph(options));
}

class Float16 : public ::testing::TestWithParam<ElementType> {};

// A float16 checkpoint converts to the same weights as its values widened to float32.
TEST_P(Float16, ConvertsLikeItsWidenedValues) {
  SKIP_WITHOUT_FIXTURES();
  const ScratchFolder folder;
  const fs::path half = folder.path() / "half.safetensors", wide = folder.path() / "wide.safetensors";
  make_checkpoint(fixture_folder("timm_mobilenetv2_100") / "manifest.json", half, GetParam());
  const auto checkpoint = open_checkpoint(half);
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, CheckpointTensor> tensors = checkpoint->tensors();
  for (auto& [name, tensor] : tensors) {
    if (tensor.type != GetParam()) continue;
    values[name] = tensor.to_floats();
    tensor.type = ElementType::F32;
    tensor.bytes = std::as_bytes(std::span(values[name]));
  }
  ASSERT_GT(values.size(), 200u);
  write_safetensors(wide, tensors);
  const std::vector<std::byte> blob = convert_mobilenet(half);
  EXPECT_EQ(weight_segments(blob), weight_segments(convert_mobilenet(wide)));

  // Near the float32 network, but not equal. Rounding to nearest keeps a weight within 2^-11 (F16) or 2^-8 (BF16) of
  // itself. To first order each of the 52 convolutions, 52 norms and the classifier is off by that much; in the worst
  // case these errors add up.
  write_file(folder.path() / "half.ferry", blob);
  const Comparison comparison =
      compare_blob(folder.path() / "half.ferry", read_fixture(fixture_folder("timm_mobilenetv2_100")));
  const double step = GetParam() == ElementType::F16 ? std::ldexp(1, -11) : std::ldexp(1, -8);
  ASSERT_NE(comparison.worst(), nullptr);
  EXPECT_LT(comparison.worst()->relative_error, 105 * step) << comparison.worst()->name;
  EXPECT_GT(comparison.worst()->relative_error, step / 16);
}

INSTANTIATE_TEST_SUITE_P(Casts, Float16, ::testing::Values(ElementType::F16, ElementType::BF16),
                         [](const auto& tested) { return std::string(element_name(tested.param)); });

// ---- planted faults
// ----------------------------------------------------------------------------------------------------

// MobileNetV2's checkpoint and graph, to be made wrong at one point.
class Planted : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_FIXTURES();
    make_checkpoint(fixture_folder("timm_mobilenetv2_100") / "manifest.json", path("right.safetensors"));
    right_ = open_checkpoint(path("right.safetensors"));
    tensors_ = right_->tensors();
  }

  fs::path path(const char* name) const { return folder_.path() / name; }

  // A tensor's values, to be changed.
  std::vector<float>& change(const std::string& name) {
    std::vector<float>& values = changed_[name] = tensors_.at(name).to_floats();
    tensors_[name].bytes = std::as_bytes(std::span(values));
    return values;
  }

  std::unique_ptr<Graph> graph(bool keep_taps) {
    write_safetensors(path("wrong.safetensors"), tensors_);
    ConvertOptions options;
    options.checkpoint = path("wrong.safetensors");
    options.settings.set("model", "mobilenetv2_100");
    options.settings.set_flag("keep-taps", keep_taps);
    return convert_to_graph(options);
  }

  // The first tensor out of bounds.
  std::string first_wrong(const Graph& graph) {
    write_file(path("wrong.ferry"), pack(graph));
    const Comparison comparison =
        compare_blob(path("wrong.ferry"), read_fixture(fixture_folder("timm_mobilenetv2_100")));
    EXPECT_FALSE(comparison.passed());
    const Row* first = comparison.first_out_of_bounds();
    return first == nullptr ? "" : first->name;
  }

  // `fused`: the tensor that a release blob still holds; an activation, computed with its convolution and norm in one
  // step.
  void expect_caught(const std::string& inner, const std::string& fused) {
    EXPECT_EQ(first_wrong(*graph(true)), "tap/" + inner);
    EXPECT_EQ(first_wrong(*graph(false)), "tap/" + fused) << "in a release blob";
  }

  ScratchFolder folder_;
  std::shared_ptr<const Checkpoint> right_;
  std::map<std::string, CheckpointTensor> tensors_;
  std::map<std::string, std::vector<float>> changed_;
};

TEST_F(Planted, WrongEpsilonIsCaught) {
  for (float& variance : change("blocks.3.0.bn1.running_var")) variance += 1e-3f - 1e-5f;  // as if eps were 1e-3
  expect_caught("blocks.3.0.bn1.act", "blocks.3.0.bn1.act");
}

TEST_F(Planted, FlippedKernelIsCaught) {
  std::vector<float>& kernel = change("blocks.2.0.conv_dw.weight");
  for (auto at = kernel.begin(); at != kernel.end(); at += 9) std::reverse(at, at + 9);
  expect_caught("blocks.2.0.conv_dw", "blocks.2.0.bn2.act");
}

TEST_F(Planted, DroppedShiftIsCaught) {
  for (float& shift : change("blocks.4.0.bn2.bias")) shift = 0;
  expect_caught("blocks.4.0.bn2.act", "blocks.4.0.bn2.act");
}

TEST_F(Planted, PaddingOnTheWrongSideIsCaught) {
  for (const bool keep_taps : {true, false}) {
    const std::unique_ptr<Graph> wrong = graph(keep_taps);
    int changed = 0;
    for (const auto& op : wrong->table.operators) {
      fbs::Conv2dT* conv = op->params.AsConv2d();
      if (conv == nullptr || op->name != "blocks.1.0.conv_dw") continue;
      ASSERT_EQ(conv->stride_h, 2);
      conv->pad_top = conv->pad_left = 0;  // TensorFlow's SAME at stride 2 pads below and to the right only
      ++changed;
    }
    ASSERT_EQ(changed, 1);
    EXPECT_EQ(first_wrong(*wrong), keep_taps ? "tap/blocks.1.0.conv_dw" : "tap/blocks.1.0.bn2.act");
  }
}

}  // namespace
}  // namespace ferry::parity

#endif  // FERRY_HAS_CONVERTER
