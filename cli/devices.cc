// ferry devices
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/sdk.h"
#include "cli/text.h"

namespace ferry::cli {
namespace {

const char* type_name(ferry_gpu_type type) {
  switch (type) {
    case FERRY_GPU_INTEGRATED: return "integrated";
    case FERRY_GPU_DISCRETE: return "discrete";
    case FERRY_GPU_VIRTUAL: return "virtual";
    case FERRY_GPU_SOFTWARE: return "software";
    case FERRY_GPU_OTHER: break;
  }
  return "other";
}

void print_text(const std::vector<ferry_gpu_info>& gpus, const std::string& reason) {
  if (gpus.empty()) print("no GPU: %s\n", reason.c_str());
  for (size_t i = 0; i < gpus.size(); ++i) {
    const ferry_gpu_info& g = gpus[i];
    print("%zu  %s\n", i, g.name);
    print("   driver  %s\n", g.driver);
    print("   type    %s, Vulkan %d.%d, %s of memory\n", type_name(g.type), g.vulkan_major, g.vulkan_minor,
          bytes_text(g.memory_bytes).c_str());
    if (*g.problem != '\0') print("   cannot be used: %s\n", g.problem);
  }
}

void print_json(const std::vector<ferry_gpu_info>& gpus, const std::string& reason) {
  nlohmann::json j = {{"devices", nlohmann::json::array()}};
  if (gpus.empty()) j["problem"] = reason;
  for (const ferry_gpu_info& g : gpus) {
    j["devices"].push_back({{"name", g.name},
                            {"driver", g.driver},
                            {"type", type_name(g.type)},
                            {"vulkan", std::to_string(g.vulkan_major) + "." + std::to_string(g.vulkan_minor)},
                            {"memory_bytes", g.memory_bytes},
                            {"problem", g.problem}});
  }
  print_document(j);
}

int devices(bool json) {
  std::vector<ferry_gpu_info> gpus(ferry_gpu_count());
  const std::string reason = gpus.empty() ? ferry_last_error() : "";
  for (size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].struct_size = sizeof(ferry_gpu_info);
    check(ferry_gpu_describe(i, &gpus[i]));
  }
  json ? print_json(gpus, reason) : print_text(gpus, reason);
  return kDone;
}

}  // namespace

void add_devices(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "devices", "List the GPUs of this machine");
  app.footer(
      "\nPrints every device that Vulkan finds. A device that cannot be used has the reason beside it; without any "
      "device\n"
      "the reason is printed. Type `software` is a rasteriser on the CPU (lavapipe, SwiftShader).\n"
      "\nExamples:\n"
      "  ferry devices\n"
      "  ferry bench m.ferry --backend gpu --device 1\n"
      "  ferry run m.ferry photo.jpg --backend gpu --device radeon");
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Print JSON");
  app.callback([json, exit_code] { *exit_code = devices(*json); });
}

}  // namespace ferry::cli
