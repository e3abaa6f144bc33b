// Converted networks against what timm and transformers computed, tensor by tensor; and proof that the comparison sees
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
#include "converter/checkpoint/safetensors.h"
#include "converter/pack/pack.h"
#include "models/families.h"
#include "sdk/model/model.h"
#include "tests/parity/backends.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;

fs::path fixture_folder(const std::string& name) { return shared_dir() / "fixtures" / name; }

#define SKIP_WITHOUT_FIXTURES() \
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)"

struct Case {
  const char* fixture;
  const char* model;
  int in_chans;
  std::vector<std::string> blocks;  // outputs of blocks that a release blob holds
  size_t taps;                      // of the fixture, which a blob with --keep-taps holds
};

Comparison compare_blob(const fs::path& blob, const Fixture& fixture) {
  const Network network(blob, fixture, cli::session_options(1));
  return compare(fixture, network.tensors());
}

class Family : public ::testing::TestWithParam<Case> {
 protected:
  fs::path convert_fixture(bool keep_taps) {
    const fs::path checkpoint = folder_.path() / "model.safetensors";
    if (!fs::exists(checkpoint)) make_checkpoint(fixture_folder(GetParam().fixture) / "manifest.json", checkpoint);
    ConvertOptions options;
    options.checkpoint = checkpoint;
    options.model = GetParam().model;
    options.settings.set("in-chans", GetParam().in_chans);
    options.keep_taps = keep_taps;
    options.output = folder_.path() / (keep_taps ? "taps.ferry" : "release.ferry");
    convert(options);
    return options.output;
  }

  ScratchFolder folder_;
};

TEST_P(Family, EveryTapIsInBounds) {
  SKIP_WITHOUT_FIXTURES();
  const Fixture fixture = read_fixture(fixture_folder(GetParam().fixture));
  const Comparison comparison = compare_blob(convert_fixture(true), fixture);
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  EXPECT_EQ(comparison.not_in_blob, std::vector<std::string>()) << "with --keep-taps a blob holds every tap";
  const auto taps = std::count_if(comparison.rows.begin(), comparison.rows.end(),
                                  [](const Row& row) { return row.kind == EntryKind::Tap; });
  EXPECT_EQ(static_cast<size_t>(taps), GetParam().taps);
}

TEST_P(Family, ReleaseBlobHoldsEveryBlockInBounds) {
  SKIP_WITHOUT_FIXTURES();
  const Fixture fixture = read_fixture(fixture_folder(GetParam().fixture));
  const Comparison comparison = compare_blob(convert_fixture(false), fixture);
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  std::set<std::string> compared;
  for (const Row& row : comparison.rows) compared.insert(row.module);
  for (const std::string& block : GetParam().blocks) EXPECT_TRUE(compared.contains(block)) << block;
  for (const Entry& entry : fixture.entries) {
    if (entry.kind == EntryKind::Output) {
      EXPECT_TRUE(compared.contains(entry.module)) << entry.name;
    }
  }
}

Novel novel_in(const std::string& fixture) {
  if (fixture.ends_with("_in1c") || fixture.ends_with("_seed1")) return Novel::Values;
  for (const char* heavy : {"hf_resnet50",                         // timm_resnet50_a1_in1k
                            "timm_vgg11_bn",                       // that, and the residual dense networks
                            "timm_convnext_tiny_dinov3_lvd1689m",  // timm_convnext_atto
                            "hf_dinov3_vits16"})                   // timm_vit_small_patch16_dinov3
    if (fixture == heavy) return Novel::Modules;
  return Novel::Kernels;
}

TEST_P(Family, EveryGpuComputesTheSame) {
  SKIP_WITHOUT_FIXTURES();
  const std::string name = GetParam().fixture;
  expect_every_gpu_computes_the_same([this](bool keep_taps) { return convert_fixture(keep_taps); },
                                     read_fixture(fixture_folder(name)), novel_in(name));
}

std::vector<std::string> counted(const std::string& before, const std::vector<int>& counts, int first,
                                 const std::string& between) {
  std::vector<std::string> names;
  for (size_t s = 0; s < counts.size(); ++s)
    for (int b = 0; b < counts[s]; ++b)
      names.push_back(before + std::to_string(static_cast<int>(s) + first) + between + std::to_string(b));
  return names;
}

std::vector<std::string> numbered(const std::string& before, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(before + std::to_string(i));
  return names;
}

const std::vector<std::string> kResNet50 = counted("layer", {3, 4, 6, 3}, 1, ".");
const std::vector<std::string> kMobileNetV2 = counted("blocks.", {1, 2, 3, 4, 3, 3, 1}, 0, ".");

const std::vector<std::string> kResNetV2 = counted("stages.", {3, 4, 6, 3}, 0, ".blocks.");
const std::vector<std::string> kRepVit = counted("stages.", {2, 2, 14, 2}, 0, ".blocks.");
const std::vector<std::string> kEfficientNetB0 = counted("blocks.", {1, 2, 2, 3, 3, 4, 1}, 0, ".");
const std::vector<std::string> kMobileNetV3 = counted("blocks.", {1, 2, 3, 2, 3, 1}, 0, ".");
const std::vector<std::string> kMobileNetV4 = counted("blocks.", {2, 2, 6, 6, 1}, 0, ".");
const std::vector<std::string> kVgg11 = {"features.2",  "features.6",  "features.13", "features.20",
                                         "features.27", "features.28", "pre_logits"};

INSTANTIATE_TEST_SUITE_P(
    Fixtures, Family,
    ::testing::Values(Case{"timm_resnet50_a1_in1k", "resnet50.a1_in1k", 3, kResNet50, 74},
                      Case{"timm_resnet50_a1_in1k_in1c", "resnet50.a1_in1k", 1, kResNet50, 26},
                      Case{"hf_resnet50", "microsoft/resnet-50", 3,
                           counted("resnet.encoder.stages.", {3, 4, 6, 3}, 0, ".layers."), 267},
                      Case{"timm_mobilenetv2_100", "mobilenetv2_100", 3, kMobileNetV2, 83},
                      Case{"timm_mobilenetv2_100_in1c", "mobilenetv2_100", 1, kMobileNetV2, 30},
                      Case{"timm_repvit_m0_9", "repvit_m0_9", 3, kRepVit, 105},
                      Case{"timm_repvit_m0_9_in1c", "repvit_m0_9", 1, kRepVit, 29},
                      Case{"timm_repvit_m0_9_seed1", "repvit_m0_9", 3, kRepVit, 105},
                      Case{"timm_fastvit_t8", "fastvit_t8", 3, counted("stages.", {2, 2, 4, 2}, 0, ".blocks."), 108},
                      Case{"timm_resnetv2_50x1_bit", "resnetv2_50x1_bit", 3, kResNetV2, 77},
                      Case{"timm_resnetv2_50x1_bit_in1c", "resnetv2_50x1_bit", 1, kResNetV2, 33},
                      Case{"timm_efficientnet_b0", "efficientnet_b0", 3, kEfficientNetB0, 117},
                      Case{"timm_mobilenetv3_small_100", "mobilenetv3_small_100", 3, kMobileNetV3, 86},
                      Case{"timm_mobilenetv3_small_100_in1c", "mobilenetv3_small_100", 1, kMobileNetV3, 26},
                      Case{"timm_mobilenetv4_conv_small", "mobilenetv4_conv_small", 3, kMobileNetV4, 70},
                      Case{"timm_vgg11_bn", "vgg11_bn", 3, kVgg11, 40}),
    [](const auto& tested) { return std::string(tested.param.fixture); });

const std::vector<std::string> kAtto = counted("stages.", {2, 2, 6, 2}, 0, ".blocks.");

INSTANTIATE_TEST_SUITE_P(ConvNeXt, Family,
                         ::testing::Values(Case{"timm_convnext_atto", "convnext_atto", 3, kAtto, 57},
                                           Case{"timm_convnext_atto_in1c", "convnext_atto", 1, kAtto, 33},
                                           Case{"timm_convnext_tiny_dinov3_lvd1689m", "convnext_tiny.dinov3_lvd1689m",
                                                3, counted("stages.", {3, 3, 9, 3}, 0, ".blocks."), 63},
                                           Case{"timm_convnextv2_atto", "convnextv2_atto", 3, kAtto, 61},
                                           Case{"timm_convnextv2_atto_in1c", "convnextv2_atto", 1, kAtto, 33}),
                         [](const auto& tested) { return std::string(tested.param.fixture); });

const std::vector<std::string> kTwelve = numbered("blocks.", 12);

INSTANTIATE_TEST_SUITE_P(
    VisionTransformer, Family,
    ::testing::Values(Case{"timm_vit_small_patch16_224", "vit_small_patch16_224", 3, kTwelve, 28},
                      Case{"timm_vit_small_patch16_224_in1c", "vit_small_patch16_224", 1, kTwelve, 19},
                      Case{"timm_vit_small_patch16_dinov3", "vit_small_patch16_dinov3", 3, kTwelve, 28},
                      Case{"timm_vit_small_patch16_dinov3_in1c", "vit_small_patch16_dinov3", 1, kTwelve, 19},
                      Case{"timm_vit_small_patch16_dinov3_seed1", "vit_small_patch16_dinov3", 3, kTwelve, 28},
                      Case{"hf_dinov3_vits16", "facebook/dinov3-vits16-pretrain-lvd1689m", 3,
                           numbered("model.layer.", 12), 111}),
    [](const auto& tested) { return std::string(tested.param.fixture); });

INSTANTIATE_TEST_SUITE_P(Windows, Family,
                         ::testing::Values(Case{"timm_swin_tiny_patch4_window7_224", "swin_tiny_patch4_window7_224", 3,
                                                counted("layers.", {2, 2, 6, 2}, 0, ".blocks."), 77},
                                           Case{"timm_tiny_vit_5m_224", "tiny_vit_5m_224", 3,
                                                counted("stages.", {2, 2, 6, 2}, 0, ".blocks."), 78}),
                         [](const auto& tested) { return std::string(tested.param.fixture); });

// ---- half precision --------------------------------------------------------------------------------------------------

std::vector<std::byte> weight_segments(const std::vector<std::byte>& blob) {
  BlobHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  return {blob.begin() + static_cast<std::ptrdiff_t>(header.data_offset), blob.end()};
}

std::vector<std::byte> convert_mobilenet(const fs::path& checkpoint) {
  ConvertOptions options;
  options.checkpoint = checkpoint;
  options.model = "mobilenetv2_100";
  return pack(*convert_to_graph(options));
}

class HalfPrecision : public ::testing::TestWithParam<ElementType> {};

// A checkpoint of half precision gives the very weights that its values, widened to float32, give.
TEST_P(HalfPrecision, ConvertsAsItsWidenedValues) {
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

  // Near the float32 network, and not the same. To nearest, F16 keeps a weight within 2^-11 of itself and BF16 within
  // 2^-8; each of the 52 convolutions, 52 norms and the classifier is off by that much to first order, and at the worst
  // all of it adds up.
  write_file(folder.path() / "half.ferry", blob);
  const Comparison comparison =
      compare_blob(folder.path() / "half.ferry", read_fixture(fixture_folder("timm_mobilenetv2_100")));
  const double step = GetParam() == ElementType::F16 ? std::ldexp(1, -11) : std::ldexp(1, -8);
  ASSERT_NE(comparison.worst(), nullptr);
  EXPECT_LT(comparison.worst()->relative_error, 105 * step) << comparison.worst()->name;
  EXPECT_GT(comparison.worst()->relative_error, step / 16);
}

INSTANTIATE_TEST_SUITE_P(Casts, HalfPrecision, ::testing::Values(ElementType::F16, ElementType::BF16),
                         [](const auto& tested) { return std::string(element_name(tested.param)); });

// ---- planted faults ----------------------------------------------------------------------------------------------------

// MobileNetV2's checkpoint and graph, to be made wrong in one place.
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
    options.model = "mobilenetv2_100";
    options.keep_taps = keep_taps;
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

  // `fused` is what a release blob still holds: an activation, computed with its convolution and norm in one step.
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
