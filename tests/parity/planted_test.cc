// Plants the most common porting mistakes in a whole converted network. Parity's bounds catch each of them, in a
// release blob and with all taps.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cli/parity/compare.h"
#include "cli/parity/network.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/pack/pack.h"
#include "models/families.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;

struct Mistake {
  const char* name;
  const char* fixture;
  const char* model;
  const char* first;  // the first tensor out of bounds if all taps are kept
  // Returns how many operators of the graph, or tensors of the checkpoint, it changes.
  std::function<int(fbs::OperatorT&)> in_graph = nullptr;
  std::function<bool(const std::string& key, std::vector<float>&)> in_checkpoint = nullptr;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

int epsilon(fbs::OperatorT& op) {
  auto* norm = op.params.AsLayerNorm();
  if (norm == nullptr) return 0;
  norm->epsilon = norm->epsilon > 5e-6f ? 1e-6f : 1e-5f;
  return 1;
}

int tanh_for_erf(fbs::OperatorT& op) {
  auto* unary = op.params.AsUnary();
  if (unary == nullptr || unary->kind != fbs::UnaryKind::Gelu) return 0;
  unary->kind = fbs::UnaryKind::GeluTanh;
  return 1;
}

int padding_side(fbs::OperatorT& op) {
  auto* conv = op.params.AsConv2d();
  if (conv == nullptr || conv->pad_top == 0) return 0;
  --conv->pad_top, --conv->pad_left, ++conv->pad_bottom, ++conv->pad_right;
  return 1;
}

int window_side(fbs::OperatorT& op) {
  const auto turn = [](auto* windows) {
    if (windows == nullptr || windows->shift_h == 0) return 0;
    windows->shift_h = windows->window_h - windows->shift_h;
    windows->shift_w = windows->window_w - windows->shift_w;
    return 1;
  };
  return turn(op.params.AsWindowPartition()) + turn(op.params.AsWindowReverse());
}

// MobileNetV3 has no GELU; SiLU replaces its hard swish.
int silu_for_hard_swish(fbs::OperatorT& op) {
  auto* unary = op.params.AsUnary();
  if (unary == nullptr || unary->kind != fbs::UnaryKind::HardSwish) return 0;
  unary->kind = fbs::UnaryKind::Silu;
  return 1;
}

bool ends_with(const std::string& key, const char* end, std::vector<float>& values, float value) {
  if (!key.ends_with(end)) return false;
  std::fill(values.begin(), values.end(), value);
  return true;
}

bool no_layer_scale(const std::string& key, std::vector<float>& values) {
  return ends_with(key, ".gamma", values, 1) || ends_with(key, ".gamma_1", values, 1) ||
         ends_with(key, ".gamma_2", values, 1);
}

// As if every norm had an epsilon of 1e-3.
bool batch_norm_epsilon(const std::string& key, std::vector<float>& values) {
  if (!key.ends_with("running_var")) return false;
  for (float& v : values) v += 1e-3f - 1e-5f;
  return true;
}

// Exchanges rows and columns of a 16x16 patch.
bool patch_side(const std::string& key, std::vector<float>& values) {
  if (key != "patch_embed.proj.weight") return false;
  for (size_t at = 0; at < values.size(); at += 256)
    for (size_t y = 0; y < 16; ++y)
      for (size_t x = 0; x < y; ++x) std::swap(values[at + y * 16 + x], values[at + x * 16 + y]);
  return true;
}

class CommonMistake : public ::testing::TestWithParam<Mistake> {
 protected:
  Comparison compare_planted(bool keep_taps) {
    const Mistake& mistake = GetParam();
    const fs::path fixture = shared_dir() / "fixtures" / mistake.fixture;
    ConvertOptions options;
    options.checkpoint = folder_.path() / "model.safetensors";
    options.settings.set("model", mistake.model);
    options.settings.set_flag("keep-taps", keep_taps);
    make_checkpoint(fixture / "manifest.json", options.checkpoint);
    int changed = 0;
    if (mistake.in_checkpoint) {
      const auto right = open_checkpoint(options.checkpoint);
      auto tensors = right->tensors();
      std::map<std::string, std::vector<float>> values;
      for (auto& [key, tensor] : tensors) {
        if (tensor.type != ElementType::F32) continue;
        std::vector<float> own = tensor.to_floats();
        if (!mistake.in_checkpoint(key, own)) continue;
        ++changed;
        tensor.bytes = std::as_bytes(std::span(values[key] = std::move(own)));
      }
      options.checkpoint = folder_.path() / "wrong.safetensors";
      write_safetensors(options.checkpoint, tensors);
    }
    const std::unique_ptr<Graph> graph = convert_to_graph(options);
    if (mistake.in_graph)
      for (const auto& op : graph->table.operators) changed += mistake.in_graph(*op);
    EXPECT_GT(changed, 0) << "nothing was planted";
    const Fixture reference = read_fixture(fixture);
    const Network network(pack(*graph), reference, cli::session_options(1));
    return compare(reference, network.tensors());
  }

  ScratchFolder folder_;
};

TEST_P(CommonMistake, IsCaught) {
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
  const Comparison every_tap = compare_planted(true);
  ASSERT_NE(every_tap.first_out_of_bounds(), nullptr);
  EXPECT_EQ(every_tap.first_out_of_bounds()->name, GetParam().first);
  EXPECT_FALSE(compare_planted(false).passed()) << "in a release blob";
}

INSTANTIATE_TEST_SUITE_P(
    Planted, CommonMistake,
    ::testing::Values(
        Mistake{"ConvNeXtEpsilon", "timm_convnext_atto", "convnext_atto", "tap/stem.1", epsilon},
        Mistake{"ConvNeXtGelu", "timm_convnext_atto", "convnext_atto", "tap/stages.0.blocks.0.mlp.act", tanh_for_erf},
        Mistake{"ConvNeXtPadding", "timm_convnext_atto", "convnext_atto", "tap/stages.0.blocks.0.conv_dw",
                padding_side},
        Mistake{"ConvNeXtLayerScale", "timm_convnext_atto", "convnext_atto", "tap/stages.0.blocks.0", nullptr,
                no_layer_scale},
        Mistake{"ViTEpsilon", "timm_vit_small_patch16_224", "vit_small_patch16_224", "tap/blocks.0.norm1", epsilon},
        Mistake{"ViTGelu", "timm_vit_small_patch16_224", "vit_small_patch16_224", "tap/blocks.0.mlp.act", tanh_for_erf},
        Mistake{"ViTPatch", "timm_vit_small_patch16_224", "vit_small_patch16_224", "tap/patch_embed", nullptr,
                patch_side},
        Mistake{"ViTLayerScale", "timm_vit_small_patch16_dinov3", "vit_small_patch16_dinov3", "tap/blocks.0.norm2",
                nullptr, no_layer_scale},
        Mistake{"SwinEpsilon", "timm_swin_tiny_patch4_window7_224", "swin_tiny_patch4_window7_224", "tap/patch_embed",
                epsilon},
        Mistake{"SwinGelu", "timm_swin_tiny_patch4_window7_224", "swin_tiny_patch4_window7_224",
                "tap/layers.0.blocks.0.mlp.fc2", tanh_for_erf},
        Mistake{"SwinWindow", "timm_swin_tiny_patch4_window7_224", "swin_tiny_patch4_window7_224",
                "tap/layers.0.blocks.1", window_side},
        Mistake{"MobileNetV3Epsilon", "timm_mobilenetv3_small_100", "mobilenetv3_small_100", "tap/bn1", nullptr,
                batch_norm_epsilon},
        Mistake{"MobileNetV3Swish", "timm_mobilenetv3_small_100", "mobilenetv3_small_100", "tap/bn1",
                silu_for_hard_swish},
        Mistake{"MobileNetV3Padding", "timm_mobilenetv3_small_100", "mobilenetv3_small_100", "tap/bn1", padding_side}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace ferry::parity

#endif  // FERRY_HAS_CONVERTER
