// Keys and values in fewer bits against transformers' float32 logits.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include "cli/parity/compare.h"
#include "cli/parity/network.h"
#include "cli/sdk.h"
#include "models/families.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

// float16 rounds by at most 2^-11 of a value, int8 by half a step, of which 127 are the largest of a head. Keys and
// values of each of the four layers add one such error to what the layers pass on.
constexpr double kLayers = 4, kFloat16 = 2 * kLayers * 0x1p-11, kInt8 = 2 * kLayers / 254;

class KeyValueTypes : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
    fixture_ = shared_dir() / "fixtures" / GetParam();
    make_checkpoint(fixture_ / "manifest.json", folder_.path() / "model.safetensors");
    std::filesystem::copy_file(fixture_ / "config.json", folder_.path() / "config.json");
  }

  std::filesystem::path blob(const std::string& kv) const {
    ConvertOptions options;
    options.checkpoint = folder_.path();
    options.output = folder_.path() / (kv + ".ferry");
    options.settings.set("kv", kv);
    convert(options);
    return options.output;
  }

  double error_of_logits(const std::filesystem::path& blob, ferry_dtype dtype = FERRY_FLOAT32) const {
    const Fixture fixture = read_fixture(fixture_);
    ferry_session_options options = cli::session_options(1);
    options.state_dtype = dtype;
    const Comparison all = compare(fixture, Network(blob, fixture, options).tensors());
    for (const Row& row : all.rows)
      if (row.kind == EntryKind::Output) return row.relative_error;
    ADD_FAILURE() << "no logits";
    return 1;
  }

  const ScratchFolder folder_;
  std::filesystem::path fixture_;
};

TEST_P(KeyValueTypes, CostNoMoreThanTheyRound) {
  const std::filesystem::path float32 = blob("float32");
  const double exact = error_of_logits(float32), half = error_of_logits(blob("float16")),
               integers = error_of_logits(blob("int8"));
  EXPECT_LE(exact, kRelativeBound);
  EXPECT_LE(half, kFloat16);
  EXPECT_LE(integers, 2 * kInt8);  // scales follow outliers of a head
  EXPECT_GT(half, kFloat16 / 32) << "nothing was rounded";
  EXPECT_GT(integers, half);
  EXPECT_EQ(error_of_logits(float32, FERRY_FLOAT16), half);
  EXPECT_EQ(error_of_logits(float32, FERRY_INT8), integers);
  std::printf("float32 %.1e, float16 %.1e, int8 %.1e\n", exact, half, integers);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, KeyValueTypes,
                         ::testing::Values("hf_qwen3_tiny", "hf_llama_tiny", "hf_gemma2_tiny", "hf_gemma3_text_tiny",
                                           "hf_phi3_tiny"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace ferry::parity

#endif
