#include "tests/support/published_shapes.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

uint64_t bytes_of_type(const std::string& type) {
  if (type == "I64") return 8;
  if (type == "F32") return 4;
  return type == "U8" || type == "F8_E4M3" ? 1 : 2;
}

// The keys that a key with {0-27,30} stands for.
std::vector<std::string> keys_of(const std::string& key) {
  const size_t open = key.find('{'), close = key.find('}');
  if (open == key.npos) return {key};
  std::vector<std::string> keys;
  std::istringstream runs(key.substr(open + 1, close - open - 1));
  for (std::string run; std::getline(runs, run, ',');) {
    const size_t dash = run.find('-');
    const int first = std::stoi(run), last = dash == run.npos ? first : std::stoi(run.substr(dash + 1));
    for (int i = first; i <= last; ++i)
      for (const std::string& one : keys_of(key.substr(0, open) + std::to_string(i) + key.substr(close + 1)))
        keys.push_back(one);
  }
  return keys;
}

// Whether `key` belongs to one of the layers after the first `layers`.
bool is_cut(const std::string& key, int layers) {
  constexpr std::string_view kLayers = ".layers.";
  const size_t at = key.find(kLayers);
  return layers > 0 && at != key.npos && std::atoi(key.c_str() + at + kLayers.size()) >= layers;
}

void cut_config(const std::filesystem::path& file, int layers) {
  nlohmann::json config = nlohmann::json::parse(std::ifstream(file));
  nlohmann::json& text = config.contains("text_config") ? config["text_config"] : config;
  text["num_hidden_layers"] = layers;
  if (text.contains("layer_types")) {
    auto& types = text["layer_types"];
    types.erase(types.begin() + layers, types.end());
  }
  std::ofstream(file) << config;
}

}  // namespace

uint64_t make_published_checkpoint(const std::string& name, const std::filesystem::path& folder, int layers) {
  const std::filesystem::path facts = source_folder() / "tests" / "data" / "published" / name;
  std::filesystem::copy_file(facts / "config.json", folder / "config.json");
  if (layers > 0) cut_config(folder / "config.json", layers);
  nlohmann::json header = nlohmann::json::object();
  uint64_t at = 0, parameters = 0;
  std::ifstream lines(facts / "tensors.txt");
  for (std::string type, shape, key; lines >> type >> shape >> key;) {
    std::vector<uint64_t> dims;
    uint64_t elements = 1;
    std::istringstream sides(shape);
    for (std::string side; shape != "-" && std::getline(sides, side, 'x');) {
      dims.push_back(std::stoull(side));
      elements *= dims.back();
    }
    const uint64_t size = elements * bytes_of_type(type);
    const bool scales = key.ends_with("_scale_inv") || key.ends_with("_scales");
    for (const std::string& one : keys_of(key)) {
      if (is_cut(one, layers)) continue;
      header[one] = {{"dtype", type}, {"shape", dims}, {"data_offsets", {at, at + size}}};
      at += size;
      if (!scales && type != "I64") parameters += type == "U8" ? 2 * elements : elements;  // a byte of MXFP4 has two
    }
  }
  const std::string text = header.dump();
  const uint64_t length = text.size();
  const std::filesystem::path file = folder / "model.safetensors";
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << text;
  out.close();
  std::filesystem::resize_file(file, sizeof length + length + at);
  return parameters;
}

}  // namespace ferry::testing
