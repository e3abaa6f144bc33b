// `ferry bisect` finds planted faults in converted models, in a backend and in a family's graph.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/sha256.h"
#include "sdk/model/model.h"
#include "tests/parity/bisected_network.h"

namespace ferry::bisect {
namespace {

namespace fs = std::filesystem;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Bisect : public BisectedNetwork {
 protected:
  void SetUp() override { set_up("timm_mobilenetv2_100", "timm/mobilenetv2_100"); }
};

constexpr auto turned = [](const auto& w, WeightIndex p, WeightIndex n) {
  return w({p.o, n.y - 1 - p.y, n.x - 1 - p.x, p.i});
};

TEST_F(Bisect, RightBlobHasNoFault) {
  from_right(false);
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::None) << finding.first;
}

TEST_F(Bisect, 01_FlippedKernel) {
  from_right(true);
  reweigh(conv("blocks.2.0.conv_dw"), turned);
  expect_conversion("blocks.2.0.conv_dw", "rotated by 180");
}
TEST_F(Bisect, 02_FlippedKernelFusedWithItsNorm) {
  from_changed(false, "blocks.2.1.conv_dw.weight", [](std::vector<float>& v) {
    for (auto at = v.begin(); at != v.end(); at += 9) std::reverse(at, at + 9);
  });
  expect_conversion("blocks.2.1.conv_dw", "rotated by 180");
}
TEST_F(Bisect, 03_MirroredKernel) {
  from_right(true);
  reweigh(conv("conv_stem"), [](const auto& w, WeightIndex p, WeightIndex n) {
    return w({p.o, p.y, n.x - 1 - p.x, p.i});
  });
  expect_conversion("conv_stem", "left to right");
}
TEST_F(Bisect, 04_RowsAndColumnsExchanged) {
  from_right(true);
  reweigh(conv("blocks.4.1.conv_dw"), [](const auto& w, WeightIndex p, WeightIndex) {
    return w({p.o, p.x, p.y, p.i});
  });
  expect_conversion("blocks.4.1.conv_dw", "rows and columns are exchanged");
}
TEST_F(Bisect, 05_PaddingBelow) {
  from_right(true);
  fbs::Conv2dT& p = *conv("blocks.1.0.conv_dw").params.AsConv2d();
  p.pad_top = p.pad_left = 0, p.pad_bottom = p.pad_right = 2;
  expect_conversion("blocks.1.0.conv_dw", "below and to the right");
}
TEST_F(Bisect, 06_PaddingAboveFused) {
  from_right(false);
  fbs::Conv2dT& p = *conv("blocks.3.0.conv_dw").params.AsConv2d();
  p.pad_top = p.pad_left = 2, p.pad_bottom = p.pad_right = 0;
  expect_conversion("blocks.3.0.conv_dw", "above and to the left");
}
TEST_F(Bisect, 07_EpsilonFolded) {
  from_changed(false, "blocks.3.0.bn1.running_var", [](std::vector<float>& v) {
    for (float& variance : v) variance += 1e-3f - 1e-5f;
  });
  expect_conversion("blocks.3.0.conv_pw", "epsilon is 0.001 instead of 1e-05");
}
TEST_F(Bisect, 08_MeanNotSubtracted) {
  from_changed(true, "blocks.2.0.bn2.running_mean", [](std::vector<float>& v) { std::fill(v.begin(), v.end(), 0.0f); });
  expect_conversion("blocks.2.0.bn2.act", "mean is not subtracted");
}
TEST_F(Bisect, 09_NormWithoutBias) {
  from_changed(false, "blocks.4.0.bn2.bias", [](std::vector<float>& v) { std::fill(v.begin(), v.end(), 0.0f); });
  expect_conversion("blocks.4.0.conv_dw", "norm's bias is missing");
}
TEST_F(Bisect, 10_NormWithoutWeight) {
  from_changed(false, "blocks.5.1.bn3.weight", [](std::vector<float>& v) { std::fill(v.begin(), v.end(), 1.0f); });
  expect_conversion("blocks.5.1.conv_pwl", "norm's weight is missing");
}
TEST_F(Bisect, 11_DifferenceForSum) {
  from_right(true);
  op("blocks.3.2", fbs::OpParams::Binary).params.AsBinary()->kind = fbs::BinaryKind::Sub;
  expect_conversion("blocks.3.2", "Sub instead of Add");
}
TEST_F(Bisect, 12_FusedActivationLost) {
  from_right(false);
  fbs::Conv2dT& p = *conv("blocks.3.1.conv_dw").params.AsConv2d();
  p.output_min = -kInfinity, p.output_max = kInfinity;
  expect_conversion("blocks.3.1.conv_dw", "activation is none instead of ReLU6");
}
TEST_F(Bisect, 13_ShortcutDropped) {
  from_right(true);
  fbs::OperatorT& add = op("blocks.2.1", fbs::OpParams::Binary);
  const Shape s = graph_->shape(add.inputs[1]);
  add.inputs[1] = graph_->add_constant("zero", s, std::vector<double>(static_cast<size_t>(s.elements()), 0.0)).id;
  expect_conversion("blocks.2.1", "one side of the sum");
}
TEST_F(Bisect, 14_ColoursReversed) {
  from_right(false);
  reweigh(conv("conv_stem"), [](const auto& w, WeightIndex p, WeightIndex n) {
    return w({p.o, p.y, p.x, n.i - 1 - p.i});
  });
  expect_conversion("conv_stem", "RGB read as BGR");
}
TEST_F(Bisect, 15_WeightInPyTorchOrder) {
  from_right(true);
  reweigh(conv("conv_stem"), [](const auto& w, WeightIndex p, WeightIndex n) {
    const int at = (p.y * n.x + p.x) * n.i + p.i;
    return w({p.o, at / n.x % n.y, at % n.x, at / (n.x * n.y)});
  });
  expect_conversion("conv_stem", "O,I,KH,KW (PyTorch's)");
}
TEST_F(Bisect, 16_ClassifierWithoutBias) {
  from_right(false);
  set_constant(op("classifier", fbs::OpParams::Linear), 2, 0);
  expect_conversion("classifier", "bias is missing");
}
TEST_F(Bisect, 17_HalvesOfInputsExchanged) {
  from_right(false);
  reweigh(op("classifier", fbs::OpParams::Linear), [](const auto& w, WeightIndex p, WeightIndex n) {
    return w({p.o, 0, 0, (p.i + n.i / 2) % n.i});
  });
  expect_conversion("classifier", "halves of the inputs are exchanged");
}
TEST_F(Bisect, 18_GroupOrder) {
  from_right(true);
  reweigh(conv("blocks.3.2.conv_pw"), [](const auto& w, WeightIndex p, WeightIndex n) {
    return w({p.o % 2 * (n.o / 2) + p.o / 2, p.y, p.x, p.i});
  });
  expect_conversion("blocks.3.2.conv_pw", "of 2 groups are interleaved");
}
TEST_F(Bisect, 19_Scale) {
  from_right(true);
  reweigh(conv("blocks.3.3.conv_pwl"), [](const auto& w, WeightIndex p, WeightIndex) { return w(p) * 1.02; });
  expect_conversion("blocks.3.3.conv_pwl", "every value is 1.02 times");
}
TEST_F(Bisect, 20_WeightsRounded) {
  from_changed(true, "blocks.5.0.conv_pw.weight", [](std::vector<float>& v) {
    for (float& w : v) {
      const uint32_t bits = std::bit_cast<uint32_t>(w);
      w = std::bit_cast<float>((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u);
    }
  });
  expect_conversion("blocks.5.0.conv_pw", "rounded to bfloat16");
}
TEST_F(Bisect, 21_MeanIsASum) {
  from_right(false);
  for (const auto& op : graph_->table.operators)
    if (auto* reduce = op->params.AsReduce()) {
      reduce->kind = fbs::ReduceKind::Sum;
      expect_conversion(op->name, "sum is taken instead of the mean");
    }
}
TEST_F(Bisect, 22_OneChannelDamaged) {
  from_right(true);
  reweigh(conv("blocks.4.2.conv_pw"),
          [](const auto& w, WeightIndex p, WeightIndex) { return p.o == 7 ? -w(p) : w(p); });
  expect_conversion("blocks.4.2.conv_pw", "only 1 of 576 channels differ: 7");
}

// A backend with a flipped kernel: it runs another blob than it is given.
TEST_F(Bisect, DistinguishesBackendFromConversion) {
  from_right(false);
  const RunNetwork faulty = [](std::span<const std::byte> blob, const parity::Fixture& fixture) {
    const fbs::Graph* graph = nullptr;
    std::span<const std::byte> data;
    cli::check(verify(blob, &graph, &data));
    fbs::GraphT model;
    graph->UnPackTo(&model);
    std::vector<std::byte> changed(data.begin(), data.end());
    for (const auto& op : model.operators) {
      if (op->name != "blocks.2.2.conv_dw") continue;
      const fbs::TensorT& weight = *model.tensors[index_of(op->inputs[1])];
      auto* values = reinterpret_cast<float*>(changed.data() + model.buffers[weight.buffer]->offset);
      for (int o = 0; o < weight.shape[0]; ++o) std::reverse(values + o * 9, values + o * 9 + 9);
    }
    return run_on_cpu(assemble(model, changed), fixture);
  };
  expect(find(faulty), Fault::Backend, "blocks.2.2.conv_dw", "rotated by 180");
}

// A family that flips a kernel: blob and graph agree, only the reference differs.
TEST_F(Bisect, DistinguishesGraphFromConversion) {
  const auto flip = [](const std::vector<double>& v, size_t i) { return v[i - i % 9 + 8 - i % 9]; };
  from_planted(recomputed("blocks.2.0.conv_dw", fbs::OpParams::Conv2d, flip), true, Search::ByPlanted);
  expect(find(), Fault::Graph, "blocks.2.0.conv_dw",
         "the blob has the kernel in one orientation, the reference has it rotated by 180 degrees");
}

// A language model: token ids as input, states that grow.
class BisectText : public BisectedNetwork {
 protected:
  void SetUp() override { set_up("hf_llama_tiny", "transformers/llama"); }
};

TEST_F(BisectText, RightBlobHasNoFault) {
  from_right(false);
  EXPECT_EQ(find().fault, Fault::None);
}
TEST_F(BisectText, ScaledWeight) {
  from_right(false);
  reweigh(op("model.layers.1.mlp.down_proj", fbs::OpParams::Linear),
          [](const auto& w, WeightIndex p, WeightIndex) { return w(p) * 1.02; });
  expect_conversion("model.layers.1.mlp.down_proj", "every value is 1.02 times");
}
TEST_F(BisectText, CausalMaskDropped) {
  from_right(true);
  for (const auto& op : graph_->table.operators)
    if (op->params.AsAttention() != nullptr) op->params.AsAttention()->causal = false;
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::Conversion);
  EXPECT_EQ(finding.op, "attention");
  EXPECT_NE(finding.cause.find("causal mask is dropped"), std::string::npos) << finding.cause;
}
// The blob was converted with another rope_theta than the checkpoint has now, so the tables differ.
TEST_F(BisectText, TableOfAnotherRopeTheta) {
  std::ifstream file(config());
  nlohmann::json changed = nlohmann::json::parse(file);
  changed["rope_parameters"]["rope_theta"] = 500000.0;
  const fs::path other = folder_.path() / "other";
  fs::create_directory(other);
  std::ofstream(other / "config.json") << changed;
  fs::copy(options_.checkpoint, other / "right.safetensors");
  ConvertOptions wrong = options_;
  wrong.checkpoint = other / "right.safetensors";
  graph_ = convert_to_graph(wrong);
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::Conversion);
  EXPECT_EQ(finding.op, "gather");
  EXPECT_EQ(finding.name, "rope.cos");

  options_ = wrong;  // both have the wrong configuration
  const Finding both = find();
  EXPECT_EQ(both.fault, Fault::Graph);
  EXPECT_EQ(both.first, "tap/model.layers.0.self_attn.o_proj") << "the first tap behind the attention";
}

// ---- weights of another training of the same network

// Two tensors differ: no operator is at fault.
TEST_F(Bisect, BlobAndCheckpointOfAnotherTraining) {
  auto tensors = right_->tensors();
  std::vector<float> a = tensors.at("blocks.3.1.conv_pw.weight").to_floats(), b = tensors.at("bn1.bias").to_floats();
  std::reverse(a.begin(), a.end());
  b[3] = std::nextafter(b[3], 2.0f);
  tensors.at("blocks.3.1.conv_pw.weight").bytes = std::as_bytes(std::span(a));
  tensors.at("bn1.bias").bytes = std::as_bytes(std::span(b));
  options_.checkpoint = folder_.path() / "other.safetensors";
  write_safetensors(options_.checkpoint, tensors);
  from_right(false);
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::OtherWeights);
  EXPECT_EQ(finding.unlike, (std::vector<std::string>{"bn1.bias", "blocks.3.1.conv_pw.weight"}));
  EXPECT_EQ(finding.alike + 2, fixture_.weights.size());
  const std::string text = finding_text(finding, 1);
  EXPECT_NE(text.find("the fixture was computed with another checkpoint of this network\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ntensors that differ  2 of the " + std::to_string(fixture_.weights.size()) +
                      " compared: 'bn1.bias'; 'blocks.3.1.conv_pw.weight'\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("operator"), std::string::npos) << text;
}

// For fixtures of real weights, the hashes show which tensors differ.
TEST_F(Bisect, WeightsThatDifferFromTheFixturesHashes) {
  fixture_.weights.clear();
  for (const auto& [name, tensor] : right_->tensors()) {
    const std::vector<float> values = tensor.to_floats();
    fixture_.weights.push_back(
        {.name = name, .shape = tensor.shape, .sha256 = sha256_hex(std::as_bytes(std::span(values))), .kind = {}});
  }
  auto tensors = right_->tensors();
  std::vector<float> values = tensors.at("conv_head.weight").to_floats();
  for (float& v : values) v *= 1.1f;
  tensors.at("conv_head.weight").bytes = std::as_bytes(std::span(values));
  options_.checkpoint = folder_.path() / "other.safetensors";
  write_safetensors(options_.checkpoint, tensors);
  from_right(false);
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::OtherWeights);
  EXPECT_EQ(finding.unlike, std::vector<std::string>{"conv_head.weight"});
}

TEST_F(Bisect, CheckpointThatTheBlobWasNotMadeFrom) {
  from_changed(false, "blocks.3.1.conv_pw.weight", [](std::vector<float>& v) { std::reverse(v.begin(), v.end()); });
  graph_->table.provenance->source_sha256[0] ^= 1;
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::OtherCheckpoint);
  EXPECT_EQ(finding.unlike, std::vector<std::string>{"blocks.3.1.conv_pw.weight"});
  EXPECT_GT(finding.alike, 50u);
}

// The blob is right, but the given checkpoint is not the one it was made from.
TEST_F(Bisect, WrongCheckpointForARightBlob) {
  from_right(false);
  EXPECT_EQ(finding_text(find(), 1), "every tensor is in bounds: nothing to search\n");
  auto tensors = right_->tensors();
  std::vector<float> values = tensors.at("bn1.bias").to_floats();
  values[3] += 1;
  tensors.at("bn1.bias").bytes = std::as_bytes(std::span(values));
  options_.checkpoint = folder_.path() / "other.safetensors";
  write_safetensors(options_.checkpoint, tensors);
  const std::string all = std::to_string(fixture_.weights.size());
  EXPECT_EQ(finding_text(find(), 1),
            "every tensor is in bounds: the blob is right\n"
            "at fault             the checkpoint: the blob was made from another file of this network, with other "
            "weights\n"
            "tensors that differ  1 of the " +
                all + " compared: 'bn1.bias'\n");
  fixture_.weights.clear();  // no record of the weights
  const Finding finding = find();
  EXPECT_EQ(finding.fault, Fault::OtherCheckpoint);
  ASSERT_EQ(finding.unlike.size(), 1u) << "the blob's constants show it";
  write_safetensors(options_.checkpoint, right_->tensors());  // saved again
  graph_->table.provenance->source_sha256[0] ^= 1;
  EXPECT_EQ(find().fault, Fault::None);
}

// The same weights in another file are the same checkpoint.
TEST_F(Bisect, ResavedCheckpointIsTheSame) {
  from_right(true);
  conv("blocks.2.1.conv_dw").params.AsConv2d()->pad_top = 2,
  conv("blocks.2.1.conv_dw").params.AsConv2d()->pad_bottom = 0;
  graph_->table.provenance->source_sha256[0] ^= 1;
  EXPECT_EQ(find().fault, Fault::Conversion);
}

TEST_F(Bisect, RefusesACheckpointOfAnotherNetwork) {
  from_right(false);
  auto tensors = right_->tensors();
  tensors.erase("bn1.bias");
  options_.checkpoint = folder_.path() / "less.safetensors";
  write_safetensors(options_.checkpoint, tensors);
  try {
    find();
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("is another network"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace ferry::bisect

#endif  // FERRY_HAS_CONVERTER
