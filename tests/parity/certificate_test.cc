// A certificate is made from a fixture. It passes if the blob is right, and otherwise names the first wrong stage.
#include <ferry/ferry.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "cli/parity/certify.h"
#include "converter/checkpoint/checkpoint.h"
#include "converter/pack/pack.h"
#include "sdk/model/model.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/parity/damaged_certificates.h"
#include "tests/parity/tiny_network.h"
#include "tests/support/blobs.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

using ferry::testing::AlignedBytes;
using ferry::testing::Parts;

std::vector<std::byte> tiny_blob(TinyFault fault = TinyFault::None) {
  const ScratchFolder folder;
  make_checkpoint(tiny_fixture() / "manifest.json", folder.path() / "tiny.safetensors");
  return pack(*tiny_network(*open_checkpoint(folder.path() / "tiny.safetensors"), fault));
}

const Fixture& fixture() {
  static const Fixture tiny = read_fixture(tiny_fixture());
  return tiny;
}

// The blob with a new certificate; an old one is replaced.
std::vector<std::byte> certify(const std::vector<std::byte>& blob, const Fixture& fixture) {
  const ScratchFolder folder;
  write_file(folder.path() / "blob.ferry", blob);
  Parts parts(blob);
  parts.model.certificate = std::move(certificates_of(folder.path() / "blob.ferry", fixture).front());
  return assemble(parts.model, parts.data);
}

const std::vector<std::byte>& certified() {
  static const std::vector<std::byte> blob = certify(tiny_blob(), fixture());
  return blob;
}

// The result of verifying the blob; `status` is the call's.
ferry_verification verdict(const std::vector<std::byte>& blob, ferry_status* status,
                           const ferry_session_options* options = nullptr) {
  AlignedBytes bytes(blob);
  ferry_model* model = nullptr;
  EXPECT_EQ(ferry_model_open_memory(bytes.data(), bytes.size(), &model), FERRY_OK) << ferry_last_error();
  ferry_verification v{};
  v.struct_size = sizeof(v);
  *status = ferry_model_verify(model, options, &v);
  // the model owns the strings
  static std::string stage, name, library;
  stage = v.stage, name = v.fixture, library = v.library;
  v.stage = stage.c_str(), v.fixture = name.c_str(), v.library = library.c_str();
  ferry_model_close(model);
  return v;
}

TEST(Certificate, PassesForARightBlob) {
  ferry_status status;
  const ferry_verification v = verdict(certified(), &status);
  ASSERT_EQ(status, FERRY_OK) << ferry_last_error();
  EXPECT_TRUE(v.passed);
  EXPECT_EQ(v.stage_count, 9u);
  EXPECT_STREQ(v.fixture, fixture().name.c_str());
  EXPECT_STREQ(v.library, fixture().library.c_str());
  EXPECT_GT(v.error, 0);
  EXPECT_LT(v.error, v.bound / 10);
  EXPECT_LT(v.error_at_conversion, v.bound / 10);
}

TEST(Certificate, HoldsTheFixturesValues) {
  const Parts parts(certified());
  const fbs::CertificateT& certificate = *parts.model.certificate;
  EXPECT_EQ(certificate.fixture_sha256.size(), 64u);
  ASSERT_EQ(certificate.inputs.size(), 1u);
  EXPECT_EQ(certificate.inputs[0]->shape, (std::vector<int32_t>{1, 36, 44, 3}));
  ASSERT_EQ(certificate.stages.size(), 9u);
  EXPECT_EQ(certificate.stages.front()->name, "stem.conv");
  EXPECT_EQ(certificate.stages.back()->name, "logits");
  EXPECT_FLOAT_EQ(certificate.stages.back()->bound, 1e-4f);
  EXPECT_LE(certified().size(), tiny_blob().size() + kMaxCertificateBytes);
  EXPECT_EQ(certify(certified(), fixture()), certified()) << "one certificate, the same each time";
}

// A stage's entry is stored only if the name does not imply it. Stored explicitly it means the same; another entry
// samples other positions.
TEST(Certificate, StoresAnEntryOnlyIfTheNameDoesNotImplyIt) {
  ferry_status status;
  const ferry_verification implied = verdict(certified(), &status);
  Parts parts(certified());
  size_t taps = 0;
  for (const auto& stage : parts.model.certificate->stages) {
    EXPECT_NE(stage->entry, "tap/" + stage->name);
    if (!stage->entry.empty()) continue;
    ++taps;
    stage->entry = "tap/" + stage->name;
  }
  EXPECT_EQ(taps, 5u);
  const ferry_verification spelled = verdict(parts.assemble(), &status);
  ASSERT_EQ(status, FERRY_OK) << ferry_last_error();
  EXPECT_TRUE(spelled.passed);
  EXPECT_EQ(spelled.error, implied.error);
  EXPECT_EQ(spelled.stage_count, implied.stage_count);

  parts.model.certificate->stages[0]->entry = "tap/elsewhere";
  const ferry_verification wrong = verdict(parts.assemble(), &status);
  ASSERT_EQ(status, FERRY_OK) << ferry_last_error();
  EXPECT_FALSE(wrong.passed);
  EXPECT_STREQ(wrong.stage, "stem.conv");
}

TEST(Certificate, CannotBeMadeForAWrongBlob) {
  try {
    certify(tiny_blob(TinyFault::WrongEpsilon), fixture());
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("the first out of bounds is tap/stem,"), std::string::npos) << e.what();
  }
}

// The blob with another weight in the depthwise convolution's constant.
std::vector<std::byte> with_weight(float value) {
  Parts parts(certified());
  for (const auto& tensor : parts.model.tensors)
    if (tensor->name == "block.0.conv.weight")
      std::memcpy(parts.data.data() + parts.model.buffers[tensor->buffer]->offset, &value, sizeof value);
  return parts.assemble();
}

TEST(Certificate, CatchesACorruptedWeight) {
  for (const float value : {40.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    ferry_status status;
    const ferry_verification v = verdict(with_weight(value), &status);
    ASSERT_EQ(status, FERRY_OK) << ferry_last_error();
    EXPECT_FALSE(v.passed) << value;
    EXPECT_STREQ(v.stage, "block.0.conv");
    EXPECT_GT(v.error, v.bound);
    EXPECT_LT(v.error_at_conversion, v.bound / 10);
    EXPECT_EQ(std::isinf(v.error), !std::isfinite(value));
  }
}

TEST(Certificate, CannotBeVerifiedIfMissingOrInFloat16) {
  ferry_status status;
  verdict(tiny_blob(), &status);
  EXPECT_EQ(status, FERRY_NOT_FOUND);
  ferry_session_options options;
  ferry_session_options_init(&options);
  options.precision = FERRY_PRECISION_FLOAT16;
  verdict(certified(), &status, &options);
  EXPECT_EQ(status, FERRY_INVALID_ARGUMENT);
  EXPECT_EQ(ferry_model_verify(nullptr, nullptr, nullptr), FERRY_INVALID_ARGUMENT);
}

// Any certificate in a file yields a status, never a crash.
TEST(Certificate, RefusedIfItDoesNotMatchTheModel) {
  using Change = void (*)(fbs::CertificateT&);
  const Change changes[] = {
      [](auto& c) { c.inputs.clear(); },
      [](auto& c) { c.stages.clear(); },
      [](auto& c) {
        c.inputs[0]->shape = {1, 36};
      },
      [](auto& c) {
        c.inputs[0]->shape = {1, 36, 44, 0};
      },
      [](auto& c) {
        c.inputs[0]->shape = {1, -36, 44, 3};
      },
      [](auto& c) {
        c.inputs[0]->shape = {1 << 30, 1 << 30, 1 << 30, 3};
      },
      [](auto& c) {
        c.inputs[0]->values = {1, 2, 3};
      },
      [](auto& c) { c.stages[0]->name = "nowhere"; },
      [](auto& c) { c.stages[0]->name.clear(); },
      [](auto& c) { c.stages[0]->samples.clear(); },
      [](auto& c) { c.stages[0]->absmax = 0; },
      [](auto& c) { c.stages[0]->absmax = std::numeric_limits<float>::infinity(); },
      [](auto& c) { c.stages[0]->bound = std::numeric_limits<float>::infinity(); },
      [](auto& c) { c.stages[0]->bound = std::numeric_limits<float>::quiet_NaN(); },
  };
  for (const Change change : changes) {
    Parts parts(certified());
    change(*parts.model.certificate);
    ferry_status status;
    const ferry_verification v = verdict(parts.assemble(), &status);
    EXPECT_NE(status, FERRY_OK) << &change - changes;
    EXPECT_FALSE(v.passed);
  }
}

TEST(Certificate, DamagedAtRandomNeverCrashes) {
  EXPECT_GT(verified_when_damaged(certified(), 3000), 100u) << "else the loop tried nothing";
}

}  // namespace
}  // namespace ferry::parity
