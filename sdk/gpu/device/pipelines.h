// Creates pipelines from kernels, once per device, and caches on disk what is known about a driver.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "sdk/gpu/device/device.h"
#include "sdk/gpu/device/shaders.h"

namespace ferry::gpu {

// A kernel with its specialization constants: constant_id i has value i. Constants 0, 1 and 2 are the workgroup size.
struct Variant {
  static constexpr size_t kMaxConstants = 16;

  Kernel kernel{};
  Storage storage = Storage::Float32;
  uint8_t count = 0;
  std::array<uint32_t, kMaxConstants> constants{};

  bool operator==(const Variant&) const = default;
  bool operator<(const Variant& other) const {  // written out: the NDK's libc++ lacks <=> for containers
    return std::tie(kernel, storage, count, constants) <
           std::tie(other.kernel, other.storage, other.count, other.constants);
  }
};

// For example "conv2d f16 8 8 1 4 2". Used in messages and in the file on disk.
std::string to_string(const Variant& variant);

inline constexpr uint32_t kBindings = 4;  // output, input, weights, operand
inline constexpr uint32_t kPushBytes = 128;

class Pipelines {
 public:
  explicit Pipelines(Device& device) : device_(device) {}
  ~Pipelines();

  // Creates layouts and shaders, and loads the cache for this driver and build (`cache_folder` null or "": no cache).
  Status create(const char* cache_folder);

  VkDescriptorSetLayout set_layout() const { return set_layout_; }
  VkPipelineLayout layout() const { return layout_; }

  // Returns the pipeline, created on the first call. A failure is not cached: the next call tries again. Thread-safe.
  Status get(const Variant& variant, VkPipeline* out);

  // Canary verdicts, kept on disk. Thread-safe.
  enum class Verdict : uint8_t { Unknown, Right, Wrong };
  Verdict verdict(const Variant& variant) const;
  void set_verdict(const Variant& variant, Verdict verdict);
  // Number of variants with that verdict.
  size_t count(Verdict verdict) const;

  // A variant that is right at small sizes and wrong, or only sometimes right, at a size: dispatches of at least that
  // many workgroups are wrong. Kept on disk, too. Thread-safe.
  void set_wrong_from(const std::string& variant, uint64_t groups);
  bool wrong_at(const Variant& variant, uint64_t groups) const;
  // Whether this device takes float16 values below 2^-14 for zero, once that is known. Kept on disk. Thread-safe.
  std::optional<bool> flushes_float16() const;
  void set_flushes_float16(bool flushes);

  // The fastest alternative of an operator, by its signature; -1: not measured. Thread-safe.
  int tuned(const std::string& signature) const;
  void set_tuned(const std::string& signature, int alternative);

  // Writes the cache file if it changed, to a temporary file that is then renamed. Errors lose the cache only.
  void save();

  Shaders& shaders() { return shaders_; }

 private:
  void read_records(const std::string& text);

  Device& device_;
  Shaders shaders_;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  mutable std::mutex mutex_;
  std::map<Variant, VkPipeline> pipelines_;
  std::map<std::string, Verdict> verdicts_;
  std::map<std::string, int> tuned_;
  std::map<std::string, uint64_t> wrong_from_;  // workgroups
  std::optional<bool> flushes_float16_;
  std::string file_;
  bool changed_ = false;
};

}  // namespace ferry::gpu
