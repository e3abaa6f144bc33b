// Language models against transformers' generated tokens, and the real stories260k. fixtures.json lists the
// tensor-by-tensor comparisons.
#ifdef FERRY_HAS_CONVERTER

#include <ferry/text.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/parity/certify.h"
#include "cli/parity/fixture.h"
#include "cli/parity/images.h"
#include "cli/parity/network.h"
#include "cli/sdk.h"
#include "converter/pack/pack.h"
#include "models/families.h"
#include "sdk/api/handles.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/parity/continuation.h"
#include "tests/shared.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;
using cli::check;

nlohmann::json read_json(const fs::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

// The logits of every token, fed in pieces of that many tokens; graph "last" returns one row per piece.
std::vector<std::vector<float>> logits(const fs::path& blob, const Ids& tokens, const Seen& images, size_t piece,
                                       const char* graph = nullptr) {
  const cli::ModelHandle model = cli::open_model(blob);
  ferry_session_options options = cli::session_options(1);
  options.graph = graph;
  const cli::SessionHandle session = cli::create_session(model, options);
  std::unique_ptr<ImageReader> reader;
  TokenPositions places(-1);
  if (const fbs::Images* table = images_of(model->model->root())) {
    require(ImageReader::open(model.get(), *table, options, session.get(), &reader));
    for (const Image& image : images) require(reader->see_patches(image.patches, image.grid));
    places = TokenPositions(reader->token());
    require(places.append(tokens, reader->images()));
  }
  std::vector<std::vector<float>> rows;
  for (size_t at = 0; at < tokens.size(); at += piece) {
    const auto run = std::span(tokens).subspan(at, std::min(piece, tokens.size() - at));
    ferry_tensor tensor;
    if (reader) {
      require(reader->write(session.get(), run, places, at));
    } else {
      const int32_t shape[] = {1, static_cast<int32_t>(run.size())};
      check(ferry_session_resize(session.get(), 0, shape, 2));
      check(ferry_session_input(session.get(), 0, &tensor));
      std::memcpy(tensor.data, run.data(), tensor.bytes);
    }
    check(ferry_session_run(session.get()));
    check(ferry_session_output(session.get(), 0, &tensor));
    const float* values = static_cast<const float*>(tensor.data);
    for (int32_t row = 0; row < tensor.shape[1]; ++row, values += tensor.shape[2])
      rows.emplace_back(values, values + tensor.shape[2]);
  }
  return rows;
}

// The maximum difference over the maximum absolute logit.
double difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  double largest = 0, error = 0;
  EXPECT_EQ(a.size(), b.size());
  for (size_t row = 0; row < a.size(); ++row) {
    for (size_t i = 0; i < a[row].size(); ++i) {
      largest = std::max(largest, std::fabs(double{a[row][i]}));
      error = std::max(error, std::fabs(double{a[row][i]} - double{b[row][i]}));
    }
  }
  return error / largest;
}

void expect_the_same_in_pieces(const fs::path& blob, const Ids& tokens, const Seen& images = {}) {
  const auto whole = logits(blob, tokens, images, tokens.size());
  for (const size_t piece : {1, 7, 16}) {
    const double error = difference(whole, logits(blob, tokens, images, piece));
    EXPECT_LE(error, 1e-5) << "pieces of " << piece;
    std::printf("pieces of %zu: %.1e\n", piece, error);
  }
  const double error = difference({whole.back()}, logits(blob, tokens, images, tokens.size(), "last"));
  EXPECT_LE(error, 1e-5) << "of the last token alone";
}

// Of each state; empty if none has a window.
std::vector<int32_t> state_windows(const fs::path& blob) {
  const std::shared_ptr<const Model> model = open_blob(blob);
  std::vector<int32_t> windows;
  bool any = false;
  for (const fbs::State* state : *model->root().states()) {
    windows.push_back(state->window());
    any = any || state->window() > 0;
  }
  return any ? windows : std::vector<int32_t>();
}

struct LanguageCase {
  const char* fixture;
  const char* max_length = nullptr;  // null: the converter's default
};

std::ostream& operator<<(std::ostream& out, const LanguageCase& language) { return out << language.fixture; }

// A fixture's folder as transformers saves it.
class LanguageFixture : public ::testing::TestWithParam<LanguageCase> {
 protected:
  void SetUp() override {
    if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
    fixture_ = shared_dir() / "fixtures" / GetParam().fixture;
    make_checkpoint(fixture_ / "manifest.json", folder_.path() / "model.safetensors");
  }

  void set_config(const char* config) {
    fs::copy_file(fixture_ / config, folder_.path() / "config.json", fs::copy_options::overwrite_existing);
  }

  fs::path converted_with(const char* config) {
    set_config(config);
    return converted(folder_.path(), folder_.path() / (std::string(config) + ".ferry"), GetParam().max_length);
  }

  // Without the files beside the fixture, which a blob embeds.
  std::vector<std::byte> packed_with(const char* config) {
    set_config(config);
    ConvertOptions options;
    options.checkpoint = folder_.path();
    if (GetParam().max_length) options.settings.set("max-length", GetParam().max_length);
    return pack(*convert_to_graph(options));
  }

  // The images that generate.json names.
  Seen images() const {
    const Fixture fixture = read_fixture(fixture_);
    Seen out;
    const auto input = [&](const char* name) -> const FixtureInput* {
      for (const FixtureInput& of : fixture.inputs)
        if (of.name == name) return &of;
      return nullptr;
    };
    const FixtureInput *pixels = input("pixel_values"), *grids = input("image_grid_thw");
    if (pixels == nullptr) return out;
    auto begin = pixels->values.begin();
    for (size_t i = 0; i < grids->values.size(); i += 3) {
      const ImageGrid grid{static_cast<int32_t>(grids->values[i + 1]), static_cast<int32_t>(grids->values[i + 2])};
      const auto end = begin + grid.size() * pixels->shape.back();
      out.push_back({{begin, end}, grid});
      begin = end;
    }
    return out;
  }

  ScratchFolder folder_;
  fs::path fixture_;
};

TEST_P(LanguageFixture, GeneratesTheTokensOfTransformers) {
  const nlohmann::json expected = read_json(fixture_ / "generate.json");
  const Ids prompt = expected["prompt"], tokens = expected["greedy"];
  const fs::path blob = converted_with("config.json");
  const Seen seen = images();
  for (const size_t piece : {prompt.size(), size_t{1}, size_t{7}, size_t{16}})
    EXPECT_EQ(greedy(blob, prompt, seen, piece, tokens.size()), tokens) << "a prompt in pieces of " << piece;
  EXPECT_EQ(greedy(blob, prompt, seen, prompt.size(), tokens.size(), cli::session_options(3)), tokens)
      << "three threads";

  Ids all = prompt;
  all.insert(all.end(), tokens.begin(), tokens.end() - 1);
  expect_the_same_in_pieces(blob, all, seen);
  if (!expected.contains("logits_first16")) return;
  const auto steps = logits(blob, all, seen, 1);
  const auto first16 = expected["logits_first16"].get<std::vector<std::vector<float>>>();
  ASSERT_EQ(first16.size(), tokens.size());
  for (size_t step = 0; step < first16.size(); ++step)
    for (size_t i = 0; i < first16[step].size(); ++i)
      EXPECT_NEAR(steps[prompt.size() - 1 + step][i], first16[step][i], 1e-3) << "step " << step;
}

// States of layers with an attention window keep little more than the window, and a long text continues as if they kept
// everything.
TEST_P(LanguageFixture, StatesKeepOnlyTheWindow) {
  const nlohmann::json expected = read_json(fixture_ / "generate.json");
  const Ids prompt = expected["prompt"], greedy = expected["greedy"];
  const fs::path blob = converted_with("config.json");
  const std::vector<int32_t> windows = state_windows(blob);
  if (windows.empty()) GTEST_SKIP() << "no layer sees a window";
  Ids text;
  for (size_t i = 0; text.size() < 400; ++i)
    text.push_back(i % 3 == 0 ? prompt[i % prompt.size()] : greedy[i % greedy.size()]);
  expect_the_same_in_pieces(blob, text);

  const cli::ModelHandle model = cli::open_model(blob);
  const cli::SessionHandle session = cli::create_session(model, cli::session_options(1));
  ferry_states* made = nullptr;
  check(ferry_session_states(session.get(), &made));
  const std::unique_ptr<ferry_states, void (*)(ferry_states*)> states(made, ferry_states_close);
  for (const int32_t token : text) {
    ferry_tensor tensor;
    check(ferry_session_input(session.get(), 0, &tensor));
    std::memcpy(tensor.data, &token, sizeof token);
    check(ferry_session_run(session.get()));
    for (size_t i = 0; i < windows.size(); ++i) {
      check(ferry_states_describe(made, i, &tensor));
      const int32_t length = ferry_states_length(made);
      EXPECT_LE(tensor.shape[1], windows[i] > 0 ? windows[i] + 127 : length) << tensor.name;
      EXPECT_GE(tensor.shape[1], windows[i] > 0 ? std::min(windows[i], length) : length) << tensor.name;
    }
  }
  EXPECT_EQ(ferry_states_length(made), static_cast<int32_t>(text.size()));
}

TEST_P(LanguageFixture, OldConfigSpellingGivesTheSameBlob) {
  if (!fs::exists(fixture_ / "config_v4.json")) GTEST_SKIP() << "of a family that is younger than transformers 5";
  const std::vector<std::byte> blob = packed_with("config.json");
  EXPECT_TRUE(packed_with("config_v4.json") == blob);
}

TEST_P(LanguageFixture, CertifiesItself) {
  const Fixture fixture = read_fixture(fixture_);
  fs::copy_file(fixture_ / "config.json", folder_.path() / "config.json");
  ConvertOptions options;
  options.checkpoint = folder_.path();
  options.output = folder_.path() / "m.ferry";
  if (GetParam().max_length) options.settings.set("max-length", GetParam().max_length);
  options.certify = [&fixture](const std::filesystem::path& blob) { return certificates_of(blob, fixture); };
  convert(options);
  const cli::ModelHandle model = cli::open_model(options.output);
  ferry_verification verification = {sizeof(verification)};
  check(ferry_model_verify(model.get(), nullptr, &verification));
  EXPECT_TRUE(verification.passed) << verification.stage << " " << verification.error;
  EXPECT_GT(verification.stage_count, 5u);
}

INSTANTIATE_TEST_SUITE_P(Language, LanguageFixture,
                         ::testing::Values(LanguageCase{"hf_llama_tiny"}, LanguageCase{"hf_mistral_tiny"},
                                           LanguageCase{"hf_qwen2_tiny"}, LanguageCase{"hf_qwen3_tiny"},
                                           LanguageCase{"hf_smollm3_tiny"}, LanguageCase{"hf_phi3_tiny"},
                                           LanguageCase{"hf_phi3_tiny_long", "512"}, LanguageCase{"hf_gemma2_tiny"},
                                           LanguageCase{"hf_mixtral_tiny"}, LanguageCase{"hf_gemma3_text_tiny"},
                                           LanguageCase{"hf_qwen3_moe_tiny"}, LanguageCase{"hf_gpt_oss_tiny"},
                                           LanguageCase{"hf_deepseek_v3_tiny"}, LanguageCase{"hf_qwen3_5_text_tiny"},
                                           LanguageCase{"hf_qwen3_5_text_tiny_long"},
                                           LanguageCase{"hf_qwen3_5_text_tiny_seed1"},
                                           LanguageCase{"hf_qwen3_5_moe_text_tiny"}, LanguageCase{"hf_qwen3_next_tiny"},
                                           LanguageCase{"hf_qwen3_vl_tiny"}, LanguageCase{"hf_qwen3_vl_moe_tiny"},
                                           LanguageCase{"hf_qwen3_5_vl_tiny"}));

// Keys and values on the device, token by token, in float32.
TEST_P(LanguageFixture, EveryGpuGeneratesTheTokensOfTransformers) {
  const std::vector<std::string> gpus = ferry::testing::test_gpus();
  if (gpus.empty()) GTEST_SKIP() << "no Vulkan driver";
  const nlohmann::json expected = read_json(fixture_ / "generate.json");
  const Ids prompt = expected["prompt"], tokens = expected["greedy"];
  const fs::path blob = converted_with("config.json");
  ferry_session_options options = cli::session_options(1);
  options.backend = FERRY_BACKEND_GPU;
  options.gpu_device = gpus.front().c_str();
  options.gpu_required = true;
  EXPECT_EQ(greedy(blob, prompt, images(), 7, tokens.size(), options), tokens);
}

TEST(Stories260k, GeneratesItsStory) {
  if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with real weights (set FERRY_SHARED)";
  const fs::path folder = shared_dir() / "weights/stories260k";
  const ScratchFolder scratch;
  const fs::path blob = converted(folder, scratch.path() / "stories.ferry");
  const nlohmann::json golden = read_json(folder / "golden_greedy.json");
  const Ids prompt = golden["prompt_ids"], all = golden["greedy_ids"];
  const Ids expected(all.begin() + static_cast<std::ptrdiff_t>(prompt.size()), all.end());
  EXPECT_EQ(greedy(blob, prompt, {}, prompt.size(), expected.size()), expected);
  EXPECT_EQ(greedy(blob, prompt, {}, prompt.size(), expected.size(), cli::session_options(2)), expected)
      << "two threads";
  expect_the_same_in_pieces(blob, all);
}

}  // namespace
}  // namespace ferry::parity

#endif  // FERRY_HAS_CONVERTER
