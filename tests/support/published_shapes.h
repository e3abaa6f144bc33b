// Checkpoints with the shapes of published ones (tests/data/published), of zeros in holes of their files: they take no
// disk and no time.
#pragma once

#include <filesystem>
#include <string>

namespace ferry::testing {

// Writes config.json and model.safetensors of tests/data/published/`name` to an existing folder. Returns the number of
// the parameters: all elements except scales and integers. `layers`, if not 0: a language model cut to so many layers.
uint64_t make_published_checkpoint(const std::string& name, const std::filesystem::path& folder, int layers = 0);

}  // namespace ferry::testing
