#include "converter/text/generation_config.h"

#include <nlohmann/json.hpp>

#include "converter/error.h"

namespace ferry {

nlohmann::json read_generation_config(const Companions& files) {
  nlohmann::json read = files.read_json(kGenerationConfig);
  if (!read.is_null() && !read.is_object()) fail("%s: is not a JSON object", files.where(kGenerationConfig).c_str());
  return read;
}

}  // namespace ferry
