// CoAtNet, tensor by tensor against timm (make_coatnet_fixtures.py), at a size that is neither square nor the variant's.
#ifdef FERRY_HAS_CONVERTER

#include <gtest/gtest.h>

#include <set>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "cli/parity/network.h"
#include "models/families.h"
#include "tests/parity/backends.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry::parity {
namespace {

namespace fs = std::filesystem;

class CoAtNet : public ::testing::TestWithParam<const char*> {};

TEST_P(CoAtNet, EveryTapIsInBounds) {
  const fs::path folder = source_folder() / "tests" / "data" / "fixtures" / GetParam();
  const Fixture fixture = read_fixture(folder);
  const ScratchFolder scratch;
  ConvertOptions options;
  options.checkpoint = scratch.path() / "model.safetensors";
  options.model = GetParam();
  options.settings.set("num-classes", 10);
  options.settings.set("input-size", "64x96");
  options.output = scratch.path() / "model.ferry";
  make_checkpoint(folder / "manifest.json", options.checkpoint);
  for (const bool keep_taps : {true, false}) {
    options.keep_taps = keep_taps;
    convert(options);
    const Network network(options.output, fixture, cli::session_options(1));
    const Comparison comparison = compare(fixture, network.tensors());
    EXPECT_TRUE(comparison.passed()) << text(comparison);
    std::set<std::string> compared;
    for (const Row& row : comparison.rows) compared.insert(row.module);
    for (const char* name : {"stem", "stages.0.blocks.0", "stages.1.blocks.1", "stages.2.blocks.0", "stages.3.blocks.1",
                             "stages.3", "features", "pooled", "logits"})
      EXPECT_TRUE(compared.contains(name)) << name;
    if (!keep_taps) continue;
    for (const char* name : {"stages.0.blocks.0.conv2_kxk", "stages.2.blocks.0.attn.qkv", "stages.2.blocks.0.attn.proj",
                             "stages.2.blocks.0.norm1", "stages.2.blocks.0.mlp.act"})
      EXPECT_TRUE(compared.contains(name)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, CoAtNet,
                         ::testing::Values("coatnet_0_rw_224", "coatnet_rmlp_nano_rw_224", "coatnet_0_224"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace ferry::parity

#endif  // FERRY_HAS_CONVERTER
