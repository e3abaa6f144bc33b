// GGUF: the container, the types of its blocks, and networks and tokenizers made from its metadata.
#include "converter/gguf/gguf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/gguf/reader.h"
#include "tests/converter/memory_checkpoint.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

std::vector<float> counted(size_t count) {
  std::vector<float> values;
  for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i) / 8);
  return values;
}

// A llama of one layer with two heads of 4 channels and one of keys.
GgufWriter small_llama(const std::string& architecture = "llama") {
  GgufWriter file;
  file.text("general.architecture", architecture);
  for (const auto& [key, value] : {std::pair("block_count", 1u),
                                   {"embedding_length", 8u},
                                   {"context_length", 64u},
                                   {"feed_forward_length", 16u},
                                   {"attention.head_count", 2u},
                                   {"attention.head_count_kv", 1u}})
    file.number(architecture + "." + key, value);
  file.real(architecture + ".attention.layer_norm_rms_epsilon", 1e-5f);
  const auto add = [&](const char* name, std::vector<int64_t> shape) {
    size_t count = 1;
    for (const int64_t d : shape) count *= static_cast<size_t>(d);
    file.tensor(name, shape, counted(count));
  };
  add("token_embd.weight", {10, 8});
  add("output_norm.weight", {8});
  add("blk.0.attn_q.weight", {8, 8});
  add("blk.0.attn_k.weight", {4, 8});
  add("blk.0.attn_v.weight", {4, 8});
  return file;
}

class Gguf : public ::testing::Test {
 protected:
  std::shared_ptr<const Checkpoint> open(const std::string& bytes, const char* name = "model.gguf") {
    return open_checkpoint(folder_.write(name, bytes));
  }
  std::string complaint_of(const std::string& bytes) {
    return complaint([&] { open(bytes); });
  }
  ScratchFolder folder_;
};

TEST_F(Gguf, HasTransformersKeysAndConfiguration) {
  const auto checkpoint = open(small_llama().bytes());
  EXPECT_STREQ(checkpoint->format(), "gguf");
  const nlohmann::json config = checkpoint->companions().read_json("config.json");
  EXPECT_EQ(config["model_type"], "llama");
  EXPECT_EQ(config["vocab_size"], 10);
  EXPECT_EQ(config["head_dim"], 4);
  EXPECT_EQ(config["tie_word_embeddings"], true);
  const auto& tensors = checkpoint->tensors();
  EXPECT_EQ(tensors.at("model.embed_tokens.weight").to_floats(), counted(80));
  // Rows 0 and 1 of a head are a pair in the file; transformers has them two apart.
  const std::vector<float> q = tensors.at("model.layers.0.self_attn.q_proj.weight").to_floats();
  std::vector<float> rows;
  for (size_t row = 0; row < 8; ++row) rows.push_back(q[row * 8]);
  EXPECT_EQ(rows, (std::vector<float>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(tensors.at("model.layers.0.self_attn.v_proj.weight").to_floats(), counted(32));
}

TEST_F(Gguf, LeavesRowsOfOtherArchitecturesInOrder) {
  const auto checkpoint = open(small_llama("qwen2").bytes());
  EXPECT_EQ(checkpoint->tensors().at("model.layers.0.self_attn.q_proj.weight").to_floats(), counted(64));
}

TEST_F(Gguf, SubtractsOneFromGemmasNorms) {
  GgufWriter file = small_llama("gemma3");
  file.number("gemma3.attention.sliding_window", 8);
  const auto checkpoint = open(file.bytes());
  const std::vector<float> norm = checkpoint->tensors().at("model.norm.weight").to_floats();
  EXPECT_EQ(norm[0], -1);
  EXPECT_EQ(norm[7], 7.0f / 8 - 1);
  EXPECT_EQ(checkpoint->tensors().at("model.embed_tokens.weight").to_floats(), counted(80));
}

TEST_F(Gguf, RefusesAnyTruncation) {
  const GgufWriter file = small_llama();
  const std::string whole = file.bytes();
  EXPECT_EQ(complaint_of(whole), "no error");
  for (size_t size = 4; size < file.header().size(); ++size)
    EXPECT_NE(complaint_of(whole.substr(0, size)), "no error") << size;
  EXPECT_NE(complaint_of(whole.substr(0, whole.size() - 1)).find("\"blk.0.attn_v.weight\" of 128 bytes"),
            std::string::npos);
}

TEST_F(Gguf, RefusesCountsBeyondTheFile) {
  const std::string whole = small_llama().bytes();
  for (const size_t at : {8, 16})  // tensors, values
    for (const uint64_t count : {uint64_t{1} << 20, uint64_t{1} << 62, ~uint64_t{0}}) {
      std::string bytes = whole;
      std::memcpy(&bytes[at], &count, sizeof count);
      EXPECT_NE(complaint_of(bytes).find("would hold"), std::string::npos) << at;
    }
  GgufWriter names;
  names.numbers<uint8_t>("k", 9, {});
  EXPECT_NE(complaint_of(names.bytes()).find("array of arrays"), std::string::npos);
  std::string list = [] {
    GgufWriter file;
    file.numbers<uint32_t>("k", 4, {1, 2});
    return file.bytes();
  }();
  const uint64_t huge = uint64_t{1} << 61;
  std::memcpy(&list[24 + 8 + 1 + 4 + 4], &huge, sizeof huge);
  EXPECT_NE(complaint_of(list).find("would have 2305843009213693952 elements"), std::string::npos);
}

TEST_F(Gguf, NamesAllTensorsThatItCannotRead) {
  GgufWriter file = small_llama();
  const std::string block(256, 'x');
  file.tensor("blk.0.ffn_up.weight", {1, 256}, 23, block);
  file.tensor("blk.0.ffn_down.weight", {1, 33}, GgufWriter::kQ8_0, block);
  file.tensor("blk.0.ffn_gate.weight", {8}, GgufWriter::kF32, block, 7);
  file.tensor("blk.0.attn_norm.weight", {8}, GgufWriter::kF32, block, 32);
  file.tensor("blk.0.ffn_norm.weight", {0}, GgufWriter::kF32, "");
  file.tensor("output.weight", {int64_t{1} << 40, int64_t{1} << 40}, GgufWriter::kF32, "");
  const std::string said = complaint_of(file.bytes());
  for (const char* part : {"\"blk.0.ffn_up.weight\" is of type IQ4_XS", "no multiple of a block of Q8_0 (32)",
                           "begins at 7, no multiple of the alignment 32", "overlap", "has the shape [0]",
                           "has the shape [1099511627776,1099511627776]"})
    EXPECT_NE(said.find(part), std::string::npos) << part << " in " << said;
}

TEST_F(Gguf, RefusesWhatNoFamilyReads) {
  EXPECT_NE(complaint_of(small_llama("mamba").bytes()).find("general.architecture is \"mamba\""), std::string::npos);
  GgufWriter more = small_llama();
  more.tensor("blk.0.ssm_a.weight", {8}, counted(8));
  EXPECT_NE(complaint_of(more.bytes()).find("has no \"blk.0.ssm_a.weight\""), std::string::npos);
  for (const uint32_t alignment : {0u, 4u, 12u, 1u << 30}) {
    GgufWriter file = small_llama();
    file.number("general.alignment", alignment);
    EXPECT_NE(complaint_of(file.bytes()).find("general.alignment"), std::string::npos) << alignment;
  }
  GgufWriter old = small_llama();
  old.version = 1;
  EXPECT_NE(complaint_of(old.bytes()).find("version 1, expected 2 or 3"), std::string::npos);
  old.version = 3u << 24;
  EXPECT_NE(complaint_of(old.bytes()).find("big-endian"), std::string::npos);
  GgufWriter twice = small_llama();
  twice.number("llama.block_count", 2);
  EXPECT_NE(complaint_of(twice.bytes()).find("twice"), std::string::npos);
}

TEST_F(Gguf, ReadsAllPartsOfASplitFileByAnyOfThem) {
  GgufWriter first = small_llama();
  first.number("split.no", 0);
  first.number("split.count", 2);
  first.number("split.tensors.count", 6);
  GgufWriter second;
  second.number("split.no", 1);
  second.number("split.count", 2);
  second.tensor("output.weight", {10, 8}, counted(80));
  folder_.write("m-00002-of-00002.gguf", second.bytes());
  const auto checkpoint = open(first.bytes(), "m-00001-of-00002.gguf");
  EXPECT_TRUE(checkpoint->tensors().contains("lm_head.weight"));
  EXPECT_EQ(checkpoint->files().size(), 2u);
  for (const char* path : {"m-00002-of-00002.gguf", ""})
    EXPECT_EQ(open_checkpoint(folder_.path() / path)->tensors().size(), 6u) << path;
  std::filesystem::remove(folder_.path() / "m-00002-of-00002.gguf");
  EXPECT_NE(complaint_of(first.bytes()).find("must end in -00001-of-00002.gguf"), std::string::npos);
  EXPECT_NE(complaint([&] { open_checkpoint(folder_.path() / "m-00001-of-00002.gguf"); }).find("missing"),
            std::string::npos);
}

// Numbers by the layouts of ggml's common.h, worked out by hand.
struct BlockCase {
  const char* type;
  std::vector<std::pair<size_t, uint8_t>> set;  // bytes of a block that are not 0
  std::vector<std::pair<size_t, float>> expected;
};

TEST(GgufBlocks, HaveTheValuesOfTheirDefinition) {
  constexpr uint8_t kOne = 0x3c, kTwo = 0x40, kHalf = 0x38;  // upper bytes of float16
  const BlockCase cases[] = {
      {"Q4_0", {{1, kTwo}, {2, 0xf3}, {17, 0x80}}, {{0, -10}, {16, 14}, {15, -16}, {31, 0}, {1, -16}}},
      {"Q4_1", {{1, kTwo}, {3, kHalf}, {4, 0xf3}}, {{0, 6.5f}, {16, 30.5f}, {1, 0.5f}}},
      {"Q5_0", {{1, kTwo}, {2, 0x01}, {5, 0x80}, {6, 0x23}, {21, 0x10}}, {{0, 6}, {16, -28}, {31, 2}, {1, -32}}},
      {"Q5_1", {{1, kTwo}, {3, kHalf}, {4, 0x01}, {8, 0x23}}, {{0, 38.5f}, {16, 4.5f}, {1, 0.5f}}},
      {"Q8_0", {{1, kHalf}, {2, 0x80}, {33, 3}}, {{0, -64}, {31, 1.5f}, {1, 0}}},
      {"IQ4_NL", {{1, kTwo}, {2, 0xf7}}, {{0, -20}, {16, 226}, {1, -254}}},
      {"MXFP4", {{0, 128}, {1, 0xf1}}, {{0, 1}, {16, -12}, {1, 0}}},
      // Group 9 (numbers 144 to 159) in bits 0 and 1 of byte 16 + 32 + 16.
      {"Q2_K", {{9, 0x35}, {64, 0x03}, {81, kTwo}, {83, kHalf}}, {{144, 28.5f}, {145, -1.5f}, {0, 0}}},
      // Group 9: lower bits in the upper nibble of byte 1, upper ones in bits 4 and 5 of byte 9.
      {"Q3_K",
       {{97, 0x50}, {105, 0x20}, {32 + 32 + 16, 0x02}, {16, 0x10}, {109, kTwo}},
       {{144, 20}, {145, -40}, {0, 256}}},
      // Group 5 (numbers 160 to 191): its scale in byte 9 and the top of byte 1, its minimum of byte 5.
      {"Q4_K",
       {{1, kTwo}, {3, kHalf}, {4 + 9, 0x21}, {4 + 1, 0x40}, {4 + 5, 0x80}, {16 + 64, 0x70}},
       {{160, 2 * 17 * 7 - 0.5f * 34}, {161, -17}}},
      {"Q5_K",
       {{1, kTwo}, {3, kHalf}, {4 + 9, 0x21}, {4 + 1, 0x40}, {4 + 5, 0x80}, {48 + 64, 0x70}, {16, 0x20}},
       {{160, 2 * 17 * 23 - 0.5f * 34}, {161, -17}}},
      // Number 128 + 96 + 5: upper nibble of byte 64 + 37, bits 6 and 7 of byte 128 + 32 + 5, scale 14.
      {"Q6_K",
       {{64 + 37, 0xa0}, {128 + 32 + 5, 0xc0}, {192 + 14, 0xff}, {209, kTwo}},
       {{229, -2 * 26}, {230, 64}, {0, 0}}},
      {"BF16", {{0, 0x80}, {1, 0x3f}}, {{0, 1}}},
      {"F16", {{1, kOne}}, {{0, 1}}},
  };
  for (const BlockCase& one : cases) {
    const gguf::BlockType* type = nullptr;
    for (uint32_t id = 0; id < 64; ++id)
      if (const auto* known = gguf::block_type(id); known && known->name == std::string_view(one.type)) type = known;
    ASSERT_NE(type, nullptr) << one.type;
    std::vector<std::byte> block(type->bytes);
    for (const auto& [at, value] : one.set) block[at] = std::byte{value};
    std::vector<float> out(type->numbers);
    type->decode(block.data(), out.data());
    for (const auto& [at, value] : one.expected) EXPECT_EQ(out[at], value) << one.type << " " << at;
  }
}

TEST_F(Gguf, HasATokenizerOfBytes) {
  GgufWriter file = small_llama();
  file.text("tokenizer.ggml.model", "gpt2");
  file.text("tokenizer.ggml.pre", "llama-bpe");
  file.texts("tokenizer.ggml.tokens", {"a", "b", "ab", "<s>", "<|eot_id|>", "<think>", "\xC4\xA0", "c", "d", "e"});
  file.numbers<int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1, 3, 3, 4, 1, 1, 1, 5});
  file.texts("tokenizer.ggml.merges", {"a b"});
  file.number("tokenizer.ggml.bos_token_id", 3);
  file.number("tokenizer.ggml.eos_token_id", 4);
  file.text("tokenizer.chat_template", "{{ bos_token }}{{ messages[0].content }}");
  const Companions files = open(file.bytes())->companions();
  const nlohmann::json tokenizer = files.read_json("tokenizer.json");
  EXPECT_EQ(tokenizer["model"]["vocab"]["ab"], 2);
  EXPECT_FALSE(tokenizer["model"]["vocab"].contains("e"));  // unused
  EXPECT_EQ(tokenizer["model"]["ignore_merges"], true);
  EXPECT_EQ(tokenizer["added_tokens"].size(), 3u);
  EXPECT_EQ(tokenizer["post_processor"]["single"].size(), 2u);
  EXPECT_EQ(files.read_json("generation_config.json")["eos_token_id"], nlohmann::json({4}));
  EXPECT_EQ(files.read_json("tokenizer_config.json")["bos_token"], "<s>");
  // Files of the folder are another model's.
  folder_.write("chat_template.jinja", "no");
  EXPECT_FALSE(files.has("chat_template.jinja"));
}

TEST_F(Gguf, RefusesTokenizersThatItCannotRead) {
  const auto with = [&](const char* model, const char* pre, std::vector<int32_t> types) {
    GgufWriter file = small_llama();
    file.text("tokenizer.ggml.model", model);
    file.text("tokenizer.ggml.pre", pre);
    file.texts("tokenizer.ggml.tokens", {"a", "b"});
    file.numbers<int32_t>("tokenizer.ggml.token_type", 5, types);
    file.texts("tokenizer.ggml.merges", {});
    return complaint_of(file.bytes());
  };
  EXPECT_EQ(with("gpt2", "qwen2", {1, 1}), "no error");
  EXPECT_NE(with("gpt2", "odd", {1, 1}).find("tokenizer.ggml.pre is \"odd\""), std::string::npos);
  EXPECT_NE(with("bert", "qwen2", {1, 1}).find("tokenizer.ggml.model is \"bert\""), std::string::npos);
  EXPECT_NE(with("gpt2", "qwen2", {1}).find("has 1 elements, but there are 2 tokens"), std::string::npos);
}

}  // namespace
}  // namespace ferry
