#include "models/vision/transformers_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "converter/graph/ops.h"
#include "models/blocks/mlp.h"

namespace ferry {

using nlohmann::json;

constexpr int kMaxSize = 1 << 24;  // maximum of a size

namespace {

Tensor identity(Tensor x) { return x; }
Tensor leaky(Tensor x) { return leaky_relu(x); }

struct Activation {
  const char* name;
  Tensor (*function)(Tensor);
};

// transformers' ACT2FN, as far as Ferry has operators.
constexpr Activation kActivations[] = {
    {"gelu", gelu},
    {"gelu_python", gelu},
    {"gelu_new", gelu_tanh},
    {"gelu_fast", gelu_tanh},
    {"gelu_pytorch_tanh", gelu_tanh},
    {"quick_gelu", quick_gelu},
    {"relu", relu},
    {"relu6", relu6},
    {"leaky_relu", leaky},
    {"silu", silu},
    {"swish", silu},
    {"sigmoid", sigmoid},
    {"tanh", tanh},
    {"linear", identity},
};

}  // namespace

bool ConfigReader::has(const char* key) const { return config_.contains(key) && !config_[key].is_null(); }

void ConfigReader::refuse(const char* key, const std::string& expected) const {
  const std::string value = has(key) ? config_[key].dump() : "absent";
  fail("config.json: %s is %s: expected %s", key, value.substr(0, 60).c_str(), expected.c_str());
}

int ConfigReader::integer(const char* key, int otherwise, int minimum) const {
  if (!has(key)) return otherwise;
  const json& value = config_[key];
  if (!value.is_number_integer() || value < minimum || value > kMaxSize)
    refuse(key, "an integer, " + std::to_string(minimum) + " or more");
  return value;
}

std::vector<int> ConfigReader::integers(const char* key, const std::vector<int>& otherwise) const {
  if (!has(key)) return otherwise;
  const json& values = config_[key];
  const bool good = values.is_array() && !values.empty() &&
                    std::all_of(values.begin(), values.end(),
                                [](const json& v) { return v.is_number_integer() && v >= 1 && v <= kMaxSize; });
  if (!good) refuse(key, "integers of at least 1, one per stage");
  return values.get<std::vector<int>>();
}

double ConfigReader::number(const char* key, double otherwise) const {
  if (!has(key)) return otherwise;
  const json& value = config_[key];
  if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > kMaxSize)
    refuse(key, "a number above 0");
  return value;
}

std::vector<double> ConfigReader::numbers(const char* key, const std::vector<double>& otherwise) const {
  if (!has(key)) return otherwise;
  const json& values = config_[key];
  const bool good =
      values.is_array() && !values.empty() && std::all_of(values.begin(), values.end(), [](const json& v) {
        return v.is_number() && v.get<double>() > 0 && v.get<double>() <= kMaxSize;
      });
  if (!good) refuse(key, "numbers above 0");
  return values.get<std::vector<double>>();
}

bool ConfigReader::flag(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!config_[key].is_boolean()) refuse(key, "true or false");
  return config_[key];
}

std::string ConfigReader::text(const char* key, const char* otherwise) const {
  if (!has(key)) return otherwise;
  if (!config_[key].is_string()) refuse(key, "a name");
  return config_[key];
}

int ConfigReader::side(const char* key, int otherwise) const {
  if (!has(key) || !config_[key].is_array()) return integer(key, otherwise);
  const std::vector<int> sides = integers(key, {});
  if (sides.front() != sides.back()) refuse(key, "a square");
  return sides.front();
}

Tensor (*ConfigReader::activation(const char* key, const char* otherwise) const)(Tensor) {
  const std::string name = text(key, otherwise);
  std::string known;
  for (const Activation& a : kActivations) {
    if (name == a.name) return a.function;
    known += (known.empty() ? "" : ", ") + std::string(a.name);
  }
  refuse(key, "one of " + known);
}

void ConfigReader::require(const char* key, bool builds) const {
  if (flag(key, builds) != builds) refuse(key, builds ? "true" : "false");
}

namespace {

// The part of the config with the image input: the network itself, or its backbone.
const json& entrance_of(const json& config) {
  const auto backbone = config.find("backbone_config");
  return backbone != config.end() && backbone->is_object() ? *backbone : config;
}

}  // namespace

int transformers_height(const json& config) {
  const json& entrance = entrance_of(config);
  if (!entrance.contains("image_size")) return 0;
  const json& size = entrance["image_size"];
  return size.is_array() ? size.at(0) : size;
}

ImageVariant with_transformers_config(ImageVariant variant, const json& config) {
  try {
    const json& entrance = entrance_of(config);
    if (entrance.contains("num_channels")) variant.in_chans = entrance["num_channels"];
    if (config.contains("layer_norm_eps")) variant.layer_norm_eps = config["layer_norm_eps"].get<double>();
    if (entrance.contains("image_size")) {
      const json& size = entrance["image_size"];
      variant.height = size.is_array() ? size.at(0) : size;
      variant.width = size.is_array() ? size.at(1) : size;
    }
  } catch (const json::exception& error) {
    fail("config.json: %s", error.what());
  }
  return variant;
}

std::optional<int> transformers_classes(const json& config, const ImageVariant& variant) {
  std::string model;
  if (config.contains("architectures") && config["architectures"].is_array() && !config["architectures"].empty() &&
      config["architectures"].front().is_string())
    model = config["architectures"].front();
  if (model.ends_with("Model") || model.ends_with("ForDepthEstimation")) return 0;
  if (config.contains("id2label")) return static_cast<int>(config["id2label"].size());
  if (model.ends_with("ForImageClassification") || model.ends_with("ForSemanticSegmentation")) return {};
  return variant.num_classes;
}

}  // namespace ferry
