// ferry export: the checkpoint that a blob was made from, in builds with a converter.
#include <gtest/gtest.h>

#include <deque>

#include "converter/checkpoint/safetensors.h"
#include "tests/cli/command.h"
#include "tests/support/blobs.h"

namespace ferry::cli_test {
namespace {

namespace fs = std::filesystem;

class ExportCommand : public ::testing::Test {
 protected:
  Result run(const std::vector<std::string>& arguments) { return ferry(folder_.path(), arguments); }

#if defined(FERRY_HAS_CONVERTER)
  static constexpr int kVocabulary = 50, kWidth = 32, kHidden = 48;

  // A small Llama, as transformers saves it.
  void SetUp() override {
    folder_.write("llama/config.json", R"({
  "model_type": "llama", "vocab_size": 50, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1,
  "num_attention_heads": 2, "num_key_value_heads": 1, "tie_word_embeddings": true, "max_position_embeddings": 64
})");
    folder_.write("llama/generation_config.json", "{\"max_length\": 64}");
    std::map<std::string, CheckpointTensor> tensors;
    std::deque<std::vector<float>> values;
    const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
      CheckpointTensor tensor;
      tensor.shape = std::move(shape);
      auto& own = values.emplace_back(static_cast<size_t>(tensor.elements()));
      for (uint32_t i = 0; i < own.size(); ++i) own[i] = testing::noise(static_cast<uint32_t>(values.size()), i);
      tensor.bytes = std::as_bytes(std::span(own));
      tensors["model." + name + ".weight"] = tensor;
    };
    add("embed_tokens", {kVocabulary, kWidth});
    add("norm", {kWidth});
    const std::string layer = "layers.0.", attention = layer + "self_attn.", mlp = layer + "mlp.";
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) add(layer + norm, {kWidth});
    for (const char* name : {"q_proj", "o_proj"}) add(attention + name, {kWidth, kWidth});
    for (const char* name : {"k_proj", "v_proj"}) add(attention + name, {kWidth / 2, kWidth});
    for (const char* name : {"gate_proj", "up_proj"}) add(mlp + name, {kHidden, kWidth});
    add(mlp + "down_proj", {kWidth, kHidden});
    write_safetensors(folder_.path() / "llama" / "model.safetensors", tensors);
  }
#endif

  ScratchFolder folder_;
};

#if defined(FERRY_HAS_CONVERTER)

TEST_F(ExportCommand, GivesTheFolderBack) {
  const Result converted = run({"convert", "llama", "-o", "m.ferry"});
  ASSERT_EQ(converted.exit_code, 0) << converted.err;
  const Result exported = run({"export", "m.ferry", "-o", "back/"});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_EQ(exported.err, "");
  EXPECT_TRUE(exported.out.starts_with("back/  3 files, ")) << exported.out;
  for (const char* name : {"config.json", "generation_config.json", "model.safetensors"})
    EXPECT_EQ(read_text(folder_.path() / "back" / name), read_text(folder_.path() / "llama" / name)) << name;
  EXPECT_REFUSED(run({"export", "m.ferry", "-o", "back/"}), "'back': exists and is not an empty folder");
  // The exported checkpoint converts to the same blob; packed weights do not change it.
  ASSERT_EQ(run({"convert", "back", "-o", "again.ferry"}).exit_code, 0);
  EXPECT_EQ(read_text(folder_.path() / "again.ferry"), read_text(folder_.path() / "m.ferry"));
  ASSERT_EQ(run({"pack", "m.ferry", "--embed", "-o", "packed.ferry"}).exit_code, 0);
  ASSERT_EQ(run({"export", "packed.ferry", "-o", "unpacked"}).exit_code, 0);
  EXPECT_EQ(read_text(folder_.path() / "unpacked" / "model.safetensors"),
            read_text(folder_.path() / "llama" / "model.safetensors"));
}

TEST_F(ExportCommand, IntegersGiveNothingBack) {
  ASSERT_EQ(run({"convert", "llama", "--weights", "i8", "-o", "m.ferry"}).exit_code, 0);
  EXPECT_REFUSED(run({"export", "m.ferry", "-o", "back"}), "its weights are integers (--weights i8)");
  EXPECT_FALSE(fs::exists(folder_.path() / "back"));
  EXPECT_REFUSED(run({"convert", "llama", "--weights", "i4", "--exportable", "-o", "n.ferry"}),
                 "--exportable: not with --weights i4");
}

TEST_F(ExportCommand, OlderBlobsHoldNothingOfTheirCheckpoint) {
  const std::string golden = source_folder() / "tests/golden/v1_small_classifier.ferry";
  EXPECT_REFUSED(run({"export", golden, "-o", "back"}), "does not contain its checkpoint's files");
  EXPECT_REFUSED(run({"export", "llama/config.json", "-o", "back"}), "llama/config.json");
}

#else

TEST_F(ExportCommand, WithoutAConverterItSaysSo) {
  EXPECT_REFUSED(run({"export", "m.ferry", "-o", "back"}), "this build has no converter");
}

#endif

}  // namespace
}  // namespace ferry::cli_test
