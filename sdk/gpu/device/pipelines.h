// Kernels to pipelines, each made once a device; what is worth knowing of a driver from one run of an app to the next.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "sdk/gpu/device/device.h"
#include "sdk/gpu/device/shaders.h"

namespace ferry::gpu {

// A kernel with its specialization constants: constant_id i has value i. Constants 0, 1, 2 are the workgroup's size.
struct Variant {
  static constexpr size_t kMaxConstants = 16;

  Kernel kernel{};
  Storage storage = Storage::Float32;
  uint8_t count = 0;
  std::array<uint32_t, kMaxConstants> constants{};

  bool operator==(const Variant&) const = default;
  bool operator<(const Variant& other) const {  // written out: clang's library of the NDK has no <=> for containers
    return std::tie(kernel, storage, count, constants) <
           std::tie(other.kernel, other.storage, other.count, other.constants);
  }
};

// "conv2d f16 8 8 1 4 2": for messages and for the file on disk.
std::string to_string(const Variant& variant);

inline constexpr uint32_t kBindings = 4;  // output, input, weights, operand
inline constexpr uint32_t kPushBytes = 128;

class Pipelines {
 public:
  explicit Pipelines(Device& device) : device_(device) {}
  ~Pipelines();

  // Layouts, the shaders, and what `cache_folder` holds for this driver and build (null or "": nothing).
  Status create(const char* cache_folder);

  VkDescriptorSetLayout set_layout() const { return set_layout_; }
  VkPipelineLayout layout() const { return layout_; }

  // Thread-safe; made at the first call. A failure is not remembered: the next call tries again.
  Status get(const Variant& variant, VkPipeline* out);

  // Canary verdicts, kept on disk. Thread-safe.
  enum class Verdict : uint8_t { Unknown, Right, Wrong };
  Verdict verdict(const Variant& variant) const;
  void set_verdict(const Variant& variant, Verdict verdict);
  // How many variants have that verdict.
  size_t count(Verdict verdict) const;

  // Which alternative of an operator was fastest, by the operator's signature; -1: never measured. Thread-safe.
  int tuned(const std::string& signature) const;
  void set_tuned(const std::string& signature, int alternative);

  // Writes the file where something changed: beside, then renamed. A full disk costs the cache, nothing else.
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
  std::string file_;
  bool changed_ = false;
};

}  // namespace ferry::gpu
