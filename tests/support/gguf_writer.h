// Writes GGUF files for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

class GgufWriter {
 public:
  static constexpr uint32_t kF32 = 0, kF16 = 1, kQ4_0 = 2, kQ8_0 = 8;  // ggml_type

  uint32_t version = 3;
  size_t alignment = 32;

  void number(const std::string& key, uint32_t value) {
    begin(key, 4);
    raw(&values_, value);
  }
  void real(const std::string& key, float value) {
    begin(key, 6);
    raw(&values_, value);
  }
  void flag(const std::string& key, bool value) {
    begin(key, 7);
    raw(&values_, static_cast<uint8_t>(value));
  }
  void text(const std::string& key, std::string_view value) {
    begin(key, 8);
    write(&values_, value);
  }
  void texts(const std::string& key, const std::vector<std::string>& list) {
    begin(key, 9);
    raw(&values_, uint32_t{8});
    raw(&values_, uint64_t{list.size()});
    for (const std::string& value : list) write(&values_, value);
  }
  template <typename T>
  void numbers(const std::string& key, uint32_t type, const std::vector<T>& list) {
    begin(key, 9);
    raw(&values_, type);
    raw(&values_, uint64_t{list.size()});
    for (const T value : list) raw(&values_, value);
  }

  // `shape` row-major; `bytes` as the type stores them. `offset`: instead of the next one.
  void tensor(const std::string& name, const std::vector<int64_t>& shape, uint32_t type, std::string_view bytes,
              int64_t offset = -1) {
    data_.append((alignment - data_.size() % alignment) % alignment, '\0');
    write(&tensors_, name);
    raw(&tensors_, static_cast<uint32_t>(shape.size()));
    for (size_t d = shape.size(); d-- > 0;) raw(&tensors_, static_cast<uint64_t>(shape[d]));
    raw(&tensors_, type);
    raw(&tensors_, offset < 0 ? uint64_t{data_.size()} : static_cast<uint64_t>(offset));
    data_ += bytes;
    ++tensor_count_;
  }
  void tensor(const std::string& name, const std::vector<int64_t>& shape, std::span<const float> values) {
    tensor(name, shape, kF32, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  // What comes before the data.
  std::string header() const {
    std::string out = "GGUF";
    raw(&out, version);
    raw(&out, tensor_count_);
    raw(&out, value_count_);
    return out + values_ + tensors_;
  }
  std::string bytes() const {
    std::string out = header();
    out.append((alignment - out.size() % alignment) % alignment, '\0');
    return out + data_;
  }

 private:
  template <typename T>
  static void raw(std::string* out, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out->append(bytes, sizeof bytes);
  }
  static void write(std::string* out, std::string_view value) {
    raw(out, uint64_t{value.size()});
    *out += value;
  }
  void begin(const std::string& key, uint32_t type) {
    write(&values_, key);
    raw(&values_, type);
    ++value_count_;
  }

  std::string values_, tensors_, data_;
  uint64_t value_count_ = 0, tensor_count_ = 0;
};

}  // namespace ferry
