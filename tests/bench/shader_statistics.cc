// Compiles a kernel with the first Vulkan driver, for tests/bench/shader_statistics.
//   shader_statistics FILE.spv CONSTANT...
// Constant i is that of constant_id i. Prints the driver's statistics, "NAME: VALUE" a line, then its assembly.
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

void require(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "%s: VkResult %d\n", what, result);
  std::exit(2);
}

VkDevice open_device() {
  require(volkInitialize(), "no Vulkan library");
  const VkApplicationInfo app{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
  const VkInstanceCreateInfo instance_info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
  VkInstance instance;
  require(vkCreateInstance(&instance_info, nullptr, &instance), "vkCreateInstance");
  volkLoadInstance(instance);
  uint32_t count = 1;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  (void)vkEnumeratePhysicalDevices(instance, &count, &physical);
  if (count == 0) require(VK_ERROR_INITIALIZATION_FAILED, "no Vulkan device");

  VkPhysicalDeviceShaderFloat16Int8Features halves{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES, .shaderFloat16 = VK_TRUE};
  const VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
      .pNext = &halves,
      .pipelineExecutableInfo = VK_TRUE};
  const char* extensions[] = {VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME,
                              VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME};
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
  const VkDeviceCreateInfo device_info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                       .pNext = &executables,
                                       .queueCreateInfoCount = 1,
                                       .pQueueCreateInfos = &queue,
                                       .enabledExtensionCount = std::size(extensions),
                                       .ppEnabledExtensionNames = extensions};
  VkDevice device;
  require(vkCreateDevice(physical, &device_info, nullptr, &device), "a device that tells what its compiler makes");
  volkLoadDevice(device);
  return device;
}

// Like sdk/gpu/device/pipelines.cc.
VkPipeline compile(VkDevice device, const std::vector<char>& code, const std::vector<uint32_t>& constants) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < 4; ++i)
    bindings.push_back({i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  const VkDescriptorSetLayoutCreateInfo set_info{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, .bindingCount = 4, .pBindings = bindings.data()};
  VkDescriptorSetLayout set;
  require(vkCreateDescriptorSetLayout(device, &set_info, nullptr, &set), "vkCreateDescriptorSetLayout");
  const VkPushConstantRange push{.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 128};
  const VkPipelineLayoutCreateInfo layout_info{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &set,
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &push};
  VkPipelineLayout layout;
  require(vkCreatePipelineLayout(device, &layout_info, nullptr, &layout), "vkCreatePipelineLayout");
  std::vector<uint32_t> words(code.size() / sizeof(uint32_t));
  std::memcpy(words.data(), code.data(), words.size() * sizeof(uint32_t));
  const VkShaderModuleCreateInfo module_info{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                             .codeSize = words.size() * sizeof(uint32_t),
                                             .pCode = words.data()};
  VkShaderModule module;
  require(vkCreateShaderModule(device, &module_info, nullptr, &module), "vkCreateShaderModule");
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < constants.size(); ++i) entries.push_back({i, i * 4, 4});
  const VkSpecializationInfo specialization{static_cast<uint32_t>(entries.size()), entries.data(),
                                            constants.size() * sizeof(uint32_t), constants.data()};
  const VkComputePipelineCreateInfo pipeline_info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags =
          VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR | VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main",
                .pSpecializationInfo = &specialization},
      .layout = layout};
  VkPipeline pipeline;
  require(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &pipeline_info, nullptr, &pipeline),
          "vkCreateComputePipelines");
  return pipeline;
}

void print(VkDevice device, VkPipeline pipeline) {
  const VkPipelineExecutableInfoKHR info{.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline};
  uint32_t count = 0;
  require(vkGetPipelineExecutableStatisticsKHR(device, &info, &count, nullptr), "statistics");
  std::vector<VkPipelineExecutableStatisticKHR> statistics(
      count, {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
  require(vkGetPipelineExecutableStatisticsKHR(device, &info, &count, statistics.data()), "statistics");
  for (const VkPipelineExecutableStatisticKHR& s : statistics)
    if (s.format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR)
      std::printf("%s: %" PRIu64 "\n", s.name, s.value.u64);

  require(vkGetPipelineExecutableInternalRepresentationsKHR(device, &info, &count, nullptr), "representations");
  std::vector<VkPipelineExecutableInternalRepresentationKHR> texts(
      count, {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR});
  require(vkGetPipelineExecutableInternalRepresentationsKHR(device, &info, &count, texts.data()), "representations");
  std::vector<std::string> buffers(count);
  for (uint32_t i = 0; i < count; ++i) {
    buffers[i].resize(texts[i].dataSize);
    texts[i].pData = buffers[i].data();
  }
  require(vkGetPipelineExecutableInternalRepresentationsKHR(device, &info, &count, texts.data()), "representations");
  for (uint32_t i = 0; i < count; ++i)
    if (std::strstr(texts[i].name, "Assembly") != nullptr) std::printf("%s\n", buffers[i].c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: shader_statistics FILE.spv CONSTANT...\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<char> code{std::istreambuf_iterator<char>(file), {}};
  if (code.empty()) {
    std::fprintf(stderr, "shader_statistics: %s cannot be read or is empty\n", argv[1]);
    return 2;
  }
  std::vector<uint32_t> constants;
  for (int i = 2; i < argc; ++i) constants.push_back(static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)));
  const VkDevice device = open_device();
  print(device, compile(device, code, constants));
  return 0;  // the process's end frees everything
}
