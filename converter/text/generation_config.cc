#include "converter/text/generation_config.h"

#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry {

nlohmann::json read_generation_config(const std::filesystem::path& folder) {
  nlohmann::json read = read_config(folder / "config.json", kGenerationConfig);
  if (!read.is_null() && !read.is_object()) fail("%s: is not a JSON object", (folder / kGenerationConfig).c_str());
  return read;
}

}  // namespace ferry
