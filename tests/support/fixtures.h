// The parity fixtures that ferry's own networks are held to: tests/parity/fixtures.json, a row each. Tests on the CPU
// and on GPUs, the names and shapes of taps, and the table of docs/status.md (scripts/status) are made from
// it.
//
//     {"name": "timm_resnet50_a1_in1k_in1c", "model": "resnet50.a1_in1k", "options": {"in-chans": 1},
//      "blocks": ["layer1.{0..2}", "layer4.{0..2}"], "gpu": "values"}
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#if FERRY_HAS_CONVERTER
#include "converter/convert.h"
#endif

namespace ferry {

struct ParityFixture {
  // How a network is run on GPUs (tests/parity/backends.h).
  enum class Gpu {
    None,     // not at all
    Kernels,  // on every driver: the cheapest networks that run all kernels (`ferry inspect --backend gpu --json` lists
              // them) but those of tests/ops alone: of GRN
    Modules,  // of kernels that those have: on one
    Values    // varies another row (one channel, another seed), or is a large one: on one, as it ships
  };

  std::string name;     // of its folder, tests/data/fixtures/NAME or ../shared/fixtures/NAME
  std::string model;    // for --model; empty: the folder's config.json tells, or the keys do
  std::string variant;  // that they tell; empty: not checked
  std::string weights;  // a file of "shared/..." or "esrgan-slim/..."; empty: made by the rules in the manifest
  std::vector<std::pair<std::string, std::string>>
      options;  // of ferry convert: {"in-chans", "1"}, {"input-size", "64x96"}
  std::vector<std::string>
      blocks;  // outputs of blocks, which a release blob holds; in the file "a.{0..2}": "a.0", "a.1", "a.2"
  // What a blob with --keep-taps holds besides. Empty: every tap of the fixture; else others may be of modules that
  // compute nothing (dropout).
  std::vector<std::string> taps;
  Gpu gpu = Gpu::Kernels;

  // Empty, where it lies in ../shared and that is not here.
  std::filesystem::path folder() const;
  // The checkpoint of `weights`; empty where it is not here. Not for rows without it.
  std::filesystem::path weights_file() const;
#if FERRY_HAS_CONVERTER
  // How the checkpoint is converted: the model and the options.
  ConvertOptions convert_options(const std::filesystem::path& checkpoint) const;
#endif
};

// For GoogleTest's messages.
std::ostream& operator<<(std::ostream& out, const ParityFixture& fixture);

// All rows. Throws where the file does not hold to the above.
const std::vector<ParityFixture>& parity_fixtures();

// What says why folder() or weights_file() is empty.
inline constexpr char kNoFixture[] =
    "not here: ../shared with parity fixtures and real weights (set FERRY_SHARED), or the npm package "
    "(scripts/fetch-npm "
    "esrgan-slim)";

}  // namespace ferry
