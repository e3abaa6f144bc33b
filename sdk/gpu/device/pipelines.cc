#include "sdk/gpu/device/pipelines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>

#include "sdk/attempt.h"
#include "sdk/files/folder.h"
#include "sdk/files/new_file.h"
#include "sdk/model/xxh64.h"

namespace ferry::gpu {
namespace {

// The file: this header, then text records, one per line, then the driver's cache.
struct FileHeader {
  char magic[8] = {'F', 'E', 'R', 'R', 'Y', 'G', 'P', 'U'};
  uint64_t shaders = kShadersHash;
  uint64_t text_bytes = 0;
  uint64_t cache_bytes = 0;
  uint64_t checksum = 0;  // of everything that follows
};

constexpr uint64_t kMaxBytes = uint64_t{256} << 20;

uint64_t checksum(const std::vector<char>& bytes) { return xxh64(std::as_bytes(std::span(bytes))); }

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

// The text and the driver's bytes of an undamaged file of this build; otherwise empty.
bool read_file(const std::string& path, std::string* text, std::vector<char>* cache) {
  // Neither a link of others nor a FIFO, whose opening would wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  const File file(fd < 0 ? nullptr : fdopen(fd, "rb"));
  if (file == nullptr && fd >= 0) ::close(fd);
  FileHeader header;
  const FileHeader ours;
  if (file == nullptr || !check_file_is_own(fd).ok()) return false;
  if (std::fread(&header, sizeof header, 1, file.get()) != 1) return false;
  if (std::memcmp(header.magic, ours.magic, sizeof ours.magic) != 0 || header.shaders != ours.shaders) return false;
  struct stat info;
  if (fstat(fileno(file.get()), &info) != 0) return false;
  // A damaged header may claim any size: allocate nothing beyond the file's.
  const uint64_t bytes = static_cast<uint64_t>(info.st_size) - sizeof header;
  if (bytes > kMaxBytes || header.text_bytes > bytes || header.cache_bytes != bytes - header.text_bytes) return false;
  std::vector<char> body(bytes);
  if (std::fread(body.data(), 1, body.size(), file.get()) != body.size() || checksum(body) != header.checksum)
    return false;
  text->assign(body.data(), header.text_bytes);
  cache->assign(body.begin() + static_cast<ptrdiff_t>(header.text_bytes), body.end());
  return true;
}

bool write_file(const std::string& path, const std::string& text, const std::vector<char>& cache) {
  std::vector<char> body(text.begin(), text.end());
  body.insert(body.end(), cache.begin(), cache.end());
  FileHeader header;
  header.text_bytes = text.size();
  header.cache_bytes = cache.size();
  header.checksum = checksum(body);
  NewFile file;
  const bool written = file.open(path, {.durable = false, .like_former = false, .mode = 0644}).ok() &&
                       file.write(std::as_bytes(std::span(&header, 1))).ok() &&
                       file.write(std::as_bytes(std::span(body))).ok();
  return written && file.keep().ok();
}

// One file per device, driver and pipeline format.
std::string file_name(const VkPhysicalDeviceProperties& p) {
  char name[128];
  int length = std::snprintf(name, sizeof name, "%08x-%08x-%08x-", p.vendorID, p.deviceID, p.driverVersion);
  for (uint8_t byte : p.pipelineCacheUUID)
    length += std::snprintf(name + length, sizeof name - static_cast<size_t>(length), "%02x", byte);
  return std::string(name) + ".gpu";
}

}  // namespace

std::string to_string(const Variant& variant) {
  std::string text = kernel_name(variant.kernel);
  text += variant.storage == Storage::Float16 ? " f16" : " f32";
  for (size_t i = 0; i < variant.count; ++i) text += " " + std::to_string(variant.constants[i]);
  return text;
}

Pipelines::~Pipelines() {
  (void)attempt([this]() -> Status {
    save();
    return {};
  });
  const DeviceFunctions& vk = device_.vk();
  const VkDevice device = device_.handle();
  for (const auto& [variant, pipeline] : pipelines_) vk.vkDestroyPipeline(device, pipeline, nullptr);
  vk.vkDestroyPipelineCache(device, cache_, nullptr);
  vk.vkDestroyPipelineLayout(device, layout_, nullptr);
  vk.vkDestroyDescriptorSetLayout(device, set_layout_, nullptr);
}

Status Pipelines::create(const char* cache_folder) {
  const DeviceFunctions& vk = device_.vk();
  shaders_.load();
  std::array<VkDescriptorSetLayoutBinding, kBindings> bindings{};
  for (uint32_t i = 0; i < kBindings; ++i) {
    bindings[i] = {.binding = i,
                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                   .descriptorCount = 1,
                   .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  }
  const VkDescriptorSetLayoutCreateInfo set{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                            .bindingCount = kBindings,
                                            .pBindings = bindings.data()};
  FERRY_TRY(check(vk.vkCreateDescriptorSetLayout(device_.handle(), &set, nullptr, &set_layout_),
                  "vkCreateDescriptorSetLayout"));
  const VkPushConstantRange push{.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = kPushBytes};
  const VkPipelineLayoutCreateInfo layout{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .setLayoutCount = 1,
                                          .pSetLayouts = &set_layout_,
                                          .pushConstantRangeCount = 1,
                                          .pPushConstantRanges = &push};
  FERRY_TRY(check(vk.vkCreatePipelineLayout(device_.handle(), &layout, nullptr, &layout_), "vkCreatePipelineLayout"));

  std::vector<char> driver;
  if (cache_folder != nullptr && *cache_folder != 0 && make_folder(cache_folder).ok()) {
    file_ = std::string(cache_folder) + "/" + file_name(device_.info().properties);
    std::string text;
    if (read_file(file_, &text, &driver)) read_records(text);
  }
  VkPipelineCacheCreateInfo cache{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                  .initialDataSize = driver.size(),
                                  .pInitialData = driver.data()};
  VkResult result = vk.vkCreatePipelineCache(device_.handle(), &cache, nullptr, &cache_);
  if (result != VK_SUCCESS && !driver.empty()) {  // the driver rejects its own bytes: start with an empty cache
    cache.initialDataSize = 0;
    result = vk.vkCreatePipelineCache(device_.handle(), &cache, nullptr, &cache_);
  }
  return check(result, "vkCreatePipelineCache");
}

// Records: "right conv2d f32 8 8 1" or "wrong ..."; "from 512 conv2d f32 8 8 1" is wrong from 512 workgroups on; "tuned
// 2 conv2d f32 [1,56,56,64] ..."; "denormals kept" or "flushed". Unknown ones are skipped.
void Pipelines::read_records(const std::string& text) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("right ")) verdicts_[line.substr(6)] = Verdict::Right;
    if (line.starts_with("wrong ")) verdicts_[line.substr(6)] = Verdict::Wrong;
    if (line.starts_with("denormals ")) flushes_float16_ = line.substr(10) == "flushed";
    char* rest = nullptr;
    if (line.starts_with("from ")) {
      const unsigned long long groups = std::strtoull(line.c_str() + 5, &rest, 10);
      if (*rest == ' ') wrong_from_[rest + 1] = groups;
    } else if (line.starts_with("tuned ")) {
      const long alternative = std::strtol(line.c_str() + 6, &rest, 10);
      if (*rest == ' ') tuned_[rest + 1] = static_cast<int>(alternative);
    }
  }
}

void Pipelines::save() {
  const std::lock_guard lock(mutex_);
  if (!changed_ || file_.empty()) return;
  std::string text;
  for (const auto& [variant, verdict] : verdicts_)
    text += (verdict == Verdict::Wrong ? "wrong " : "right ") + variant + "\n";
  for (const auto& [variant, groups] : wrong_from_) text += "from " + std::to_string(groups) + " " + variant + "\n";
  if (flushes_float16_) text += *flushes_float16_ ? "denormals flushed\n" : "denormals kept\n";
  for (const auto& [signature, alternative] : tuned_)
    text += "tuned " + std::to_string(alternative) + " " + signature + "\n";
  size_t bytes = 0;
  const DeviceFunctions& vk = device_.vk();
  std::vector<char> driver;
  if (!device_.lost() && vk.vkGetPipelineCacheData(device_.handle(), cache_, &bytes, nullptr) == VK_SUCCESS) {
    driver.resize(bytes);
    if (vk.vkGetPipelineCacheData(device_.handle(), cache_, &bytes, driver.data()) != VK_SUCCESS) bytes = 0;
    driver.resize(bytes);
  }
  if (write_file(file_, text, driver)) changed_ = false;
}

Status Pipelines::get(const Variant& variant, VkPipeline* out) {
  const std::lock_guard lock(mutex_);
  VkPipeline& made = pipelines_[variant];  // inserted first, so that a new pipeline is not lost for lack of memory
  *out = made;
  if (made != VK_NULL_HANDLE) return {};
  const DeviceFunctions& vk = device_.vk();
  const std::span<const uint32_t> code = shaders_.code(variant.kernel, variant.storage);
  const VkShaderModuleCreateInfo create{
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = code.size_bytes(), .pCode = code.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  FERRY_TRY(check(vk.vkCreateShaderModule(device_.handle(), &create, nullptr, &module), "vkCreateShaderModule"));
  std::array<VkSpecializationMapEntry, Variant::kMaxConstants> entries;
  for (uint32_t i = 0; i < variant.count; ++i) entries[i] = {i, i * 4, 4};
  const VkSpecializationInfo constants{variant.count, entries.data(), variant.count * sizeof(uint32_t),
                                       variant.constants.data()};
  const VkComputePipelineCreateInfo pipeline{.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                             .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                       .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                       .module = module,
                                                       .pName = "main",
                                                       .pSpecializationInfo = &constants},
                                             .layout = layout_};
  const VkResult result = vk.vkCreateComputePipelines(device_.handle(), cache_, 1, &pipeline, nullptr, &made);
  vk.vkDestroyShaderModule(device_.handle(), module, nullptr);
  if (Status status = check(result, "vkCreateComputePipelines"); !status.ok())
    return error(status.code(), "kernel %s: %s", to_string(variant).c_str(), status.message().data());
  changed_ = true;
  *out = made;
  return {};
}

Pipelines::Verdict Pipelines::verdict(const Variant& variant) const {
  const std::lock_guard lock(mutex_);
  const auto found = verdicts_.find(to_string(variant));
  return found == verdicts_.end() ? Verdict::Unknown : found->second;
}

void Pipelines::set_verdict(const Variant& variant, Verdict verdict) {
  const std::lock_guard lock(mutex_);
  verdicts_[to_string(variant)] = verdict;
  changed_ = true;
}

size_t Pipelines::count(Verdict verdict) const {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto& [variant, known] : verdicts_) count += known == verdict ? 1 : 0;
  return count;
}

void Pipelines::set_wrong_from(const std::string& variant, uint64_t groups) {
  const std::lock_guard lock(mutex_);
  uint64_t& from = wrong_from_.try_emplace(variant, groups).first->second;
  from = std::min(from, groups);
  changed_ = true;
}

bool Pipelines::wrong_at(const Variant& variant, uint64_t groups) const {
  const std::lock_guard lock(mutex_);
  if (wrong_from_.empty()) return false;
  const auto found = wrong_from_.find(to_string(variant));
  return found != wrong_from_.end() && groups >= found->second;
}

std::optional<bool> Pipelines::flushes_float16() const {
  const std::lock_guard lock(mutex_);
  return flushes_float16_;
}

void Pipelines::set_flushes_float16(bool flushes) {
  const std::lock_guard lock(mutex_);
  flushes_float16_ = flushes;
  changed_ = true;
}

int Pipelines::tuned(const std::string& signature) const {
  const std::lock_guard lock(mutex_);
  const auto found = tuned_.find(signature);
  return found == tuned_.end() ? -1 : found->second;
}

void Pipelines::set_tuned(const std::string& signature, int alternative) {
  const std::lock_guard lock(mutex_);
  tuned_[signature] = alternative;
  changed_ = true;
}

}  // namespace ferry::gpu
