// Blobs with rounded weights are in bounds if the weights are the reference's, and otherwise out of bounds.
#ifdef FERRY_HAS_CONVERTER

#include "cli/parity/rounding.h"

#include <gtest/gtest.h>

#include "cli/parity/certify.h"
#include "cli/parity/judge.h"
#include "converter/checkpoint/safetensors.h"
#include "models/families.h"
#include "tests/parity/backends.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/shared.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;

struct Rounded {
  const char* fixture;
  const char* model;
  const char* weights;
};

void PrintTo(const Rounded& rounded, std::ostream* out) { *out << rounded.fixture << " " << rounded.weights; }

class RoundedBlob : public ::testing::TestWithParam<Rounded> {
 protected:
  void SetUp() override {
    if (shared_dir().empty()) GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
    make_checkpoint(fixture_folder() / "manifest.json", checkpoint_);
    if (const fs::path config = fixture_folder() / "config.json"; fs::exists(config))
      fs::copy(config, folder_.path() / "config.json");
  }

  fs::path fixture_folder() const { return shared_dir() / "fixtures" / GetParam().fixture; }

  // Negates all elements of that tensor.
  void negate(const std::string& key) {
    const auto right = open_checkpoint(checkpoint_);
    auto tensors = right->tensors();
    std::vector<float> values = tensors.at(key).to_floats();
    for (float& v : values) v = -v;
    tensors[key].bytes = std::as_bytes(std::span(values));
    write_safetensors(folder_.path() / "wrong.safetensors", tensors);
    fs::rename(folder_.path() / "wrong.safetensors", checkpoint_);
  }

  fs::path converted(const Certify& certify = nullptr) const {
    ConvertOptions options;
    options.checkpoint = checkpoint_;
    if (*GetParam().model) options.settings.set("model", GetParam().model);
    options.settings.set("weights", GetParam().weights);
    options.output = folder_.path() / "m.ferry";
    options.certify = certify;
    convert(families(), options);
    EXPECT_TRUE(has_rounded_constants(options.output));
    return options.output;
  }

  Comparison judged(ferry_session_options session) const {
    const fs::path blob = converted();
    const Fixture fixture = read_fixture(fixture_folder());
    const Network network(blob, fixture, session);
    return judge(blob, fixture, network.tensors(), session);
  }

  const ScratchFolder folder_;
  const fs::path checkpoint_ = folder_.path() / "model.safetensors";
};

class RoundedText : public RoundedBlob {};

TEST_P(RoundedText, IsInBounds) {
  const Comparison comparison = judged(cli::session_options(1));
  EXPECT_TRUE(comparison.passed()) << text(comparison);
  for (const Row& row : comparison.rows) EXPECT_GE(row.rounding_cost, 0) << row.name;
  EXPECT_GT(comparison.rows.back().reference_error, 1e-8) << "nothing was rounded";
}

// Each operator is right for the blob's weights, but these are not the reference's.
TEST_P(RoundedText, OfAnotherCheckpointIsOutOfBounds) {
  negate("model.layers.2.mlp.down_proj.weight");
  const Comparison comparison = judged(cli::session_options(1));
  const Row* first = comparison.first_out_of_bounds();
  ASSERT_NE(first, nullptr) << text(comparison);
  EXPECT_NE(first->problem.find("against the reference, but rounding costs only "), std::string::npos)
      << first->problem;
  EXPECT_EQ(first->module, "model.layers.2.mlp.down_proj");
  for (const Row& row : comparison.rows)
    EXPECT_EQ(row.in_bounds, row.depth < first->depth) << row.name << " " << row.problem;
}

TEST_P(RoundedText, CertifiesItself) {
  const Fixture fixture = read_fixture(fixture_folder());
  std::unique_ptr<fbs::CertificateT> certificate;
  const Certify certify = [&](const fs::path& blob) {
    Certificates made = certificates_of(blob, fixture);
    certificate = std::make_unique<fbs::CertificateT>(*made.front());
    return made;
  };
  const cli::ModelHandle right = cli::open_model(converted(certify));
  ferry_verification verification = {sizeof(verification)};
  cli::check(ferry_model_verify(right.get(), nullptr, &verification));
  EXPECT_TRUE(verification.passed) << verification.stage << " " << verification.error;
  EXPECT_EQ(verification.stage_count, fixture.entries.size());
  // With random weights, 4 bits leave too little signal in the last layers to check.
  const bool four = std::string(GetParam().weights) == "i4";
  for (const auto& stage : certificate->stages) EXPECT_LT(stage->bound, four ? 2.0f : 0.5f) << stage->name;

  negate("model.layers.2.mlp.down_proj.weight");
  converted([&](const fs::path&) {
    Certificates same;
    same.push_back(std::make_unique<fbs::CertificateT>(*certificate));
    return same;
  });
  const cli::ModelHandle wrong = cli::open_model(folder_.path() / "m.ferry");
  cli::check(ferry_model_verify(wrong.get(), nullptr, &verification));
  EXPECT_FALSE(verification.passed);
  EXPECT_STREQ(verification.stage, "model.layers.2.mlp.down_proj");
  EXPECT_THROW(converted(certify), Error);
}

INSTANTIATE_TEST_SUITE_P(, RoundedText,
                         ::testing::Values(Rounded{"hf_llama_tiny", "", "f16"}, Rounded{"hf_llama_tiny", "", "i8"},
                                           Rounded{"hf_llama_tiny", "", "i4"}));

class RoundedImage : public RoundedBlob {};

TEST_P(RoundedImage, IsInBounds) {
  const Comparison comparison = judged(cli::session_options(1));
  EXPECT_TRUE(comparison.passed()) << text(comparison);
}

INSTANTIATE_TEST_SUITE_P(, RoundedImage,
                         ::testing::Values(Rounded{"timm_vit_small_patch16_224", "vit_small_patch16_224", "i8"},
                                           Rounded{"timm_convnext_atto", "convnext_atto", "i4"},
                                           Rounded{"timm_convnext_atto", "convnext_atto", "i8"}));

class RoundedImageOnEveryGpu : public RoundedBlob {};

// The GPU does not quantize activation rows, and its operators are judged accordingly. One driver suffices: tests/gpu
// uses all.
TEST_P(RoundedImageOnEveryGpu, IsInBounds) {
  if (testing::test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  const std::string gpu = testing::test_gpus()[0];
  for (const ferry_precision precision : {FERRY_PRECISION_FLOAT32, FERRY_PRECISION_FLOAT16}) {
    SCOPED_TRACE(precision == FERRY_PRECISION_FLOAT16 ? "float16" : "float32");
    ferry_session_options session = cli::session_options(1);
    session.backend = FERRY_BACKEND_GPU;
    session.precision = precision;
    session.gpu_device = gpu.c_str();
    session.gpu_required = true;
    const Comparison comparison = judged(session);
    EXPECT_TRUE(comparison.passed()) << text(comparison);
  }
}

INSTANTIATE_TEST_SUITE_P(, RoundedImageOnEveryGpu,
                         ::testing::Values(Rounded{"timm_convnext_atto", "convnext_atto", "i8"},
                                           Rounded{"timm_convnext_atto", "convnext_atto", "i4"}));

}  // namespace
}  // namespace ferry::parity

#endif  // FERRY_HAS_CONVERTER
