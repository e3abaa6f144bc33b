// A checkpoint in memory, and the weights of a graph built from it.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "converter/checkpoint/checkpoint.h"
#include "converter/graph/weights.h"

namespace ferry {

class MemoryCheckpoint : public Checkpoint {
 public:
  // Values of ordinary magnitude that differ by element and key.
  void add(const std::string& key, const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (int64_t d : shape) count *= d;
    const double phase = static_cast<double>(std::hash<std::string>{}(key) % 1000);
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(std::sin(phase + 1.7 * static_cast<double>(i))));
    add(key, shape, std::move(values));
  }
  void add(const std::string& key, const std::vector<int64_t>& shape, std::vector<float> values) {
    data_.push_back(std::make_unique<std::vector<float>>(std::move(values)));
    tensors_[key] = {ElementType::F32, shape, std::as_bytes(std::span(*data_.back()))};
  }
  void add(const std::string& key, const std::vector<int64_t>& shape, std::vector<double> values) {
    doubles_.push_back(std::make_unique<std::vector<double>>(std::move(values)));
    tensors_[key] = {ElementType::F64, shape, std::as_bytes(std::span(*doubles_.back()))};
  }
  void add(const std::string& key, const std::vector<int64_t>& shape, std::vector<uint8_t> values) {
    bytes_.push_back(std::make_unique<std::vector<uint8_t>>(std::move(values)));
    tensors_[key] = {ElementType::U8, shape, std::as_bytes(std::span(*bytes_.back()))};
  }
  void set_type(const std::string& key, ElementType type) { tensors_.at(key).type = type; }
  void remove(const std::string& key) { tensors_.erase(key); }

  const std::map<std::string, CheckpointTensor>& tensors() const override { return tensors_; }
  const char* format() const override { return "memory"; }
  std::string sha256() const override { return ""; }
  const std::filesystem::path& path() const override { return path_; }
  void set_path(const std::filesystem::path& path) { path_ = path; }

 private:
  std::map<std::string, CheckpointTensor> tensors_;
  std::vector<std::unique_ptr<std::vector<float>>> data_;
  std::vector<std::unique_ptr<std::vector<double>>> doubles_;
  std::vector<std::unique_ptr<std::vector<uint8_t>>> bytes_;
  std::filesystem::path path_ = "memory/model.safetensors";
};

// The message of an Error; "no error" if none is thrown.
template <typename Action>
std::string complaint(Action&& action) {
  try {
    action();
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace ferry
