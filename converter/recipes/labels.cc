#include "converter/recipes/labels.h"

#include <fstream>

#include "converter/error.h"

namespace ferry {

std::vector<std::string> read_labels(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("%s: cannot be read", path.string().c_str());
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(line);
  }
  return labels;
}

}  // namespace ferry
