// Language models that read images: positions of image tokens, and the API that apps use.
#ifdef FERRY_HAS_CONVERTER

#include <ferry/text.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sdk/model/model.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/parity/continuation.h"
#include "tests/shared.h"
#include "tests/support/blobs.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;
using cli::check;

#define EXPECT_REFUSED(call, code, words)                                                            \
  do {                                                                                               \
    EXPECT_EQ(call, code);                                                                           \
    EXPECT_NE(std::string(ferry_last_error()).find(words), std::string::npos) << ferry_last_error(); \
  } while (false)

class ImagePlaces : public ::testing::TestWithParam<const char*> {};

TEST_P(ImagePlaces, AreTransformers) {
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
  std::ifstream file(shared_dir() / "fixtures" / GetParam() / "generate.json");
  const nlohmann::json expected = nlohmann::json::parse(file);
  const Ids prompt = expected["prompt"];
  const ImageGrid squares{3, 2};
  TokenPositions places(250);
  require(places.append(prompt, std::span(&squares, 1)));
  places.append_plain();
  for (size_t axis = 0; axis < 3; ++axis) {
    for (size_t i = 0; i < prompt.size(); ++i)
      EXPECT_EQ(places.axis(axis, i), expected["position_ids"][axis][i]) << "token " << i << ", axis " << axis;
    EXPECT_EQ(places.axis(axis, prompt.size()), static_cast<int>(prompt.size()) + expected["rope_delta"].get<int>());
  }
}

INSTANTIATE_TEST_SUITE_P(Images, ImagePlaces,
                         ::testing::Values("hf_qwen3_vl_tiny", "hf_qwen3_vl_moe_tiny", "hf_qwen3_5_vl_tiny"));

// A vision language model, used like an app does.
class ImagesInText : public ::testing::Test {
 protected:
  void SetUp() override {
    if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
    folder_.write("tokenizer.json", R"({"added_tokens": [
        {"id": 250, "content": "<image>", "special": true}, {"id": 252, "content": "<begin>", "special": true},
        {"id": 253, "content": "<end>", "special": true}],
        "normalizer": null, "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "unk_token": "?",
                  "vocab": {"a": 0, "b": 1, "?": 2, "<image>": 250, "<begin>": 252, "<end>": 253}}})");
    folder_.write("preprocessor_config.json", R"({"image_processor_type": "Qwen2VLImageProcessorFast",
        "size": {"shortest_edge": 256, "longest_edge": 4096}, "patch_size": 8, "merge_size": 2,
        "temporal_patch_size": 2, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]})");
    blob_ = convert_fixture("hf_qwen3_vl_tiny");
    model_ = cli::open_model(blob_);
  }

  fs::path convert_fixture(const char* name) {
    const fs::path fixture = shared_dir() / "fixtures" / name;
    make_checkpoint(fixture / "manifest.json", folder_.path() / "model.safetensors");
    fs::copy_file(fixture / "config.json", folder_.path() / "config.json", fs::copy_options::overwrite_existing);
    return converted(folder_.path(), folder_.path() / (std::string(name) + ".ferry"));
  }

  struct Close {
    void operator()(ferry_generator* generator) const { ferry_generator_close(generator); }
  };
  using Handle = std::unique_ptr<ferry_generator, Close>;
  static Handle generator(const cli::ModelHandle& model) {
    ferry_generator* made = nullptr;
    check(ferry_generator_create(model.get(), nullptr, &made));
    return Handle(made);
  }
  static Ids tokens(const Handle& generator) {
    size_t count = 0;
    const int32_t* ids = ferry_generator_tokens(generator.get(), &count);
    return {ids, ids + count};
  }
  static Ids next(const Handle& generator, size_t count) {
    Ids out(count);
    for (int32_t& token : out) check(ferry_generator_next(generator.get(), &token));
    return out;
  }

  struct Pixels {
    std::vector<uint8_t> bytes;
    ferry_image image;
  };
  static Pixels image(int width, int height, uint32_t seed) {
    Pixels out;
    for (int i = 0; i < 3 * width * height; ++i) out.bytes.push_back(static_cast<uint8_t>((seed += 0x9e3779b9) >> 24));
    out.image = {out.bytes.data(), width, height, 3 * width, false};
    return out;
  }
  // Preprocessed as the vision graph's blob says.
  Image patches(const Pixels& pixels) const {
    ferry_session_options options = cli::session_options(1);
    options.graph = "vision";
    const cli::SessionHandle session = cli::create_session(model_, options);
    ImageGrid grid;
    ferry_model* vision = nullptr;
    check(ferry_model_open_graph(model_.get(), "vision", &vision));
    check(ferry_model_image_patches(vision, pixels.image.width, pixels.image.height, &grid.rows, &grid.columns));
    ferry_model_close(vision);
    ferry_tensor inputs[4];
    for (size_t i = 0; i < 4; ++i) {
      check(ferry_session_input(session.get(), i, &inputs[i]));
      inputs[i].shape[i == 0 ? 0 : 1] = static_cast<int32_t>(grid.size());
    }
    check(ferry_session_resize_inputs(session.get(), inputs, 4));
    check(ferry_session_set_image(session.get(), &pixels.image));
    check(ferry_session_input(session.get(), 0, &inputs[0]));
    const auto* values = static_cast<const float*>(inputs[0].data);
    return {{values, values + inputs[0].bytes / sizeof(float)}, grid};
  }

  ScratchFolder folder_;
  fs::path blob_;
  cli::ModelHandle model_;
};

TEST_F(ImagesInText, AreAppendedBetweenTheirTokens) {
  const Pixels pixels = image(49, 33, 1);
  const Handle made = generator(model_);
  check(ferry_generator_append_image(made.get(), &pixels.image));
  check(ferry_generator_append_text(made.get(), "a b", 3));
  const Ids expected = {252, 250, 250, 250, 250, 250, 250, 253, 0, 1};
  EXPECT_EQ(tokens(made), expected);
  EXPECT_EQ(next(made, 8), greedy(blob_, expected, {patches(pixels)}, expected.size(), 8));
}

TEST_F(ImagesInText, SeveralSizesKeepTheirPositions) {
  const Pixels first = image(48, 32, 1), second = image(16, 64, 2);
  const std::string text = "a <begin><image><end> b <begin><image><end> a";
  const Handle made = generator(model_);
  check(ferry_generator_add_image(made.get(), &first.image));
  check(ferry_generator_add_image(made.get(), &second.image));
  check(ferry_generator_set_text(made.get(), text.data(), text.size()));
  const Ids expected = {0, 252, 250, 250, 250, 250, 250, 250, 253, 1, 252, 250, 250, 250, 250, 253, 0};
  EXPECT_EQ(tokens(made), expected);
  const Ids answer = next(made, 8);
  for (const size_t piece : {expected.size(), size_t{1}, size_t{5}})
    EXPECT_EQ(answer, greedy(blob_, expected, {patches(first), patches(second)}, piece, 8)) << piece;

  const std::string one = "a <image> b";
  EXPECT_REFUSED(ferry_generator_set_text(made.get(), one.data(), one.size()), FERRY_INVALID_ARGUMENT,
                 "the text has tokens for 1 of the 2 images that were added");
  // Cached results of a common prefix are kept, including images.
  check(ferry_generator_set_text(made.get(), text.data(), text.size()));
  EXPECT_EQ(next(made, 8), answer);
  // Without the images it is another text.
  check(ferry_generator_reset(made.get()));
  EXPECT_REFUSED(ferry_generator_set_text(made.get(), text.data(), text.size()), FERRY_INVALID_ARGUMENT,
                 "token 2, 250, is an image placeholder, and the text has 0 images");
  check(ferry_generator_append_text(made.get(), "a b", 3));
  EXPECT_EQ(next(made, 4).size(), 4u);
}

TEST_F(ImagesInText, RefusesInvalidImages) {
  const Handle made = generator(model_);
  EXPECT_REFUSED(ferry_generator_add_image(made.get(), nullptr), FERRY_INVALID_ARGUMENT, "image");
  const ferry_image none = {};
  EXPECT_REFUSED(ferry_generator_append_image(made.get(), &none), FERRY_INVALID_ARGUMENT, "sides must be");
  Pixels long_one = image(402, 2, 1);
  EXPECT_REFUSED(ferry_generator_append_image(made.get(), &long_one.image), FERRY_INVALID_ARGUMENT,
                 "at most 200 times as long");
  Pixels pixels = image(32, 32, 1);
  pixels.image.stride = 5;
  EXPECT_REFUSED(ferry_generator_append_image(made.get(), &pixels.image), FERRY_INVALID_ARGUMENT, "rows of 5 bytes");
  EXPECT_EQ(tokens(made), Ids());
  pixels.image.stride = 96;
  check(ferry_generator_append_image(made.get(), &pixels.image));

  const int32_t within[] = {250, 0}, half[] = {0, 250};
  EXPECT_REFUSED(ferry_generator_append(made.get(), within, 2), FERRY_INVALID_ARGUMENT, "the text has 1 images");
  check(ferry_generator_add_image(made.get(), &pixels.image));
  EXPECT_REFUSED(ferry_generator_append(made.get(), within, 2), FERRY_INVALID_ARGUMENT, "is inside image 1");
  EXPECT_REFUSED(ferry_generator_append_image(made.get(), &pixels.image), FERRY_INVALID_ARGUMENT,
                 "of 2 images 1 are in the text");
  check(ferry_generator_append(made.get(), half, 2));
  int32_t token = 0;
  EXPECT_REFUSED(ferry_generator_next(made.get(), &token), FERRY_INVALID_ARGUMENT, "ends within an image");

  const cli::ModelHandle text_alone = cli::open_model(convert_fixture("hf_qwen3_tiny"));
  EXPECT_REFUSED(ferry_generator_append_image(generator(text_alone).get(), &pixels.image), FERRY_UNSUPPORTED,
                 "accepts text only, no images");
}

// A damaged blob that is given an image.
TEST_F(ImagesInText, DamagedBlobReturnsAStatus) {
  std::ifstream file(blob_, std::ios::binary);
  const std::string read{std::istreambuf_iterator<char>(file), {}};
  const auto whole = std::as_bytes(std::span(read));
  const std::vector<std::byte> blob(whole.begin(), whole.end());
  BlobHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  testing::AlignedBytes bytes(blob);
  const Pixels pixels = image(32, 32, 1);
  uint64_t state = 1;
  const auto below = [&state](size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % n;
  };
  constexpr int kAttacks = 1500;
  int opened = 0, gone_on = 0;
  for (int i = 0; i < kAttacks; ++i) {
    std::memcpy(bytes.data() + header.graph_offset, blob.data() + header.graph_offset, header.graph_bytes);
    for (size_t changes = 1 + below(3); changes > 0; --changes)
      bytes.data()[header.graph_offset + below(header.graph_bytes)] ^= std::byte(1u << below(8));
    ferry_model* model = nullptr;
    if (ferry_model_open_memory(bytes.data(), bytes.size(), &model) != FERRY_OK) continue;
    const cli::ModelHandle closed(model);
    ++opened;
    ferry_session_options options = cli::session_options(1);
    options.memory_limit = uint64_t{64} << 20;
    ferry_generator* made = nullptr;
    if (ferry_generator_create(model, &options, &made) != FERRY_OK) continue;
    const Handle reads(made);
    int32_t token = 0;
    if (ferry_generator_append_image(made, &pixels.image) == FERRY_OK &&
        ferry_generator_next(made, &token) == FERRY_OK && ferry_generator_next(made, &token) == FERRY_OK)
      ++gone_on;
  }
  std::printf("%d of %d opened, %d went on\n", opened, kAttacks, gone_on);
  EXPECT_GT(opened, kAttacks / 20);
  EXPECT_GT(gone_on, kAttacks / 50);
  EXPECT_LT(gone_on, opened);
}

}  // namespace
}  // namespace ferry::parity

#endif  // FERRY_HAS_CONVERTER
