#include "converter/preprocessing/labels.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "converter/error.h"

namespace ferry {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> read_labels(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("%s: cannot be read", path.string().c_str());
  return lines_of(std::string(std::istreambuf_iterator<char>(file), {}));
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
