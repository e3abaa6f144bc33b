#include "converter/preprocessing/labels.h"

#include <fstream>
#include <nlohmann/json.hpp>

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

std::vector<std::string> read_labels(const std::filesystem::path& path, int classes) {
  std::vector<std::string> labels = read_labels(path);
  if (labels.size() != static_cast<size_t>(classes))
    fail("%s has %zu lines, but the network has %d classes", path.string().c_str(), labels.size(), classes);
  return labels;
}

std::vector<std::string> transformers_labels(const nlohmann::json& config) {
  std::vector<std::string> labels;
  if (!config.contains("id2label")) return labels;
  const nlohmann::json& names = config["id2label"];
  bool telling = false;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto name = names.find(std::to_string(i));
    if (name == names.end() || !name->is_string())
      fail("config.json: id2label has %zu names but none for class %zu", names.size(), i);
    labels.push_back(name->get<std::string>());
    telling = telling || labels.back() != "LABEL_" + std::to_string(i);
  }
  return telling ? labels : std::vector<std::string>{};
}

}  // namespace ferry
