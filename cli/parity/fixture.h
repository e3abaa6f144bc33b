// A fixture folder: what the reference implementation computed, in the reference's layout (N,C,H,W).
//
//   manifest.json         names, shapes, statistics, and the rules that inputs and checkpoint are made by
//   fixture.safetensors   inputs, outputs, `tap/<module>`, `feat/<i>`: whole, or samples at known positions
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/parity/generator.h"

namespace ferry::parity {

using Dims = std::vector<int64_t>;

int64_t elements(const Dims& shape);
// "1x64x56x56"
std::string to_string(const Dims& shape);

struct FixtureInput {
  std::string name;  // the framework's argument name: "input", "pixel_values"
  Dims shape;
  std::vector<float> values;  // token ids, too: whole numbers below 2^24
};

enum class EntryKind { Tap, Pyramid, Output };

// One reference tensor.
struct Entry {
  std::string name;    // as in the file: "tap/layer1.0", "feat/2", "logits"
  std::string module;  // as blobs name it: "layer1.0", "layer2", "logits"
  EntryKind kind = EntryKind::Tap;
  Dims shape;                      // of the whole tensor
  std::vector<int64_t> positions;  // flat row-major positions of `values`; empty: all of them
  std::vector<float> values;
  double absmax = 0;  // of the whole tensor; for pyramids, the largest value stored
  double floor = -1;  // the reference's own float32 error relative to absmax; negative: not known
};

// What a float32 tensor of the checkpoint is: how it follows from a seed, or what it is told by.
struct WeightRule {
  std::string name;
  Dims shape;
  std::string sha256;            // of its values; "": it follows from the rest
  std::optional<FillKind> kind;  // absent: all of it is `value`
  double offset = 0, scale = 0;
  float value = 0;
};

struct Fixture {
  std::string name;
  std::string architecture;
  std::string library;  // "timm 1.0.29.dev0"
  std::string sha256;   // of fixture.safetensors, lower-case hexadecimal
  uint64_t seed = 0;    // of the inputs that follow from one, and of the checkpoint
  std::vector<FixtureInput> inputs;
  std::vector<Entry> entries;  // taps in network order, then pyramids, then outputs
  // The checkpoint that it was computed with, as far as the manifest, or the one that it names, tells.
  std::vector<WeightRule> weights;
  uint64_t weights_seed = 0;
};

// Reads a folder. Inputs that are stored as samples are remade from their rule; every input is checked with its
// SHA-256. Throws Error, naming the file and the entry, for anything missing, misshapen, inconsistent or not a number.
Fixture read_fixture(const std::filesystem::path& folder);

}  // namespace ferry::parity
