// Networks for any image size: a blob converted for another size than the fixture's is resized to it.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <algorithm>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "cli/parity/network.h"
#include "models/families.h"
#include "tests/parity/backends.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/support/fixtures.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;

struct SizesCase {
  const char* fixture;
  const char* size;  // to convert for; empty: the network's own
};

class Sizes : public ::testing::TestWithParam<SizesCase> {};

TEST_P(Sizes, BlobOfAnotherSizeComputesTheSame) {
  const auto row = std::find_if(parity_fixtures().begin(), parity_fixtures().end(),
                                [](const ParityFixture& known) { return known.name == GetParam().fixture; });
  const fs::path folder = row->folder();
  if (folder.empty()) GTEST_SKIP() << kNoFixture;
  const ScratchFolder scratch;
  ConvertOptions options;
  options.checkpoint = scratch.path() / "model.safetensors";
  options.output = scratch.path() / "model.ferry";
  make_checkpoint(folder / "manifest.json", options.checkpoint);
  if (fs::exists(folder / "config.json")) fs::copy(folder / "config.json", scratch.path() / "config.json");
  if (*GetParam().size) options.settings.set("input-size", GetParam().size);
  for (const bool keep_taps : {true, false}) {
    options.settings.set_flag("keep-taps", keep_taps);
    convert(families(), options);
    const Fixture fixture = read_fixture(folder);
    const Comparison comparison = compare(fixture, Network(options.output, fixture, cli::session_options(1)).tensors());
    EXPECT_TRUE(comparison.passed()) << text(comparison);
    if (keep_taps) {
      EXPECT_EQ(comparison.rows.size(), fixture.entries.size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Sizes,
                         ::testing::Values(SizesCase{"hf_depth_anything_tiny", ""},
                                           SizesCase{"hf_depth_anything_tiny", "140x42"},
                                           SizesCase{"hf_dinov3_vits16", "96x160"}, SizesCase{"hf_segformer_tiny", ""},
                                           SizesCase{"hf_segformer_tiny", "65x71"},
                                           SizesCase{"lraspp_mobilenet_v3_large", ""},
                                           SizesCase{"deeplabv3_resnet50", "33x130"}),
                         [](const auto& tested) {
                           std::string name = std::string(tested.param.fixture) + "_" + tested.param.size;
                           return name;
                         });

}  // namespace
}  // namespace ferry::parity

#endif
