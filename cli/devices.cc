// ferry devices
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/audit.h"
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

// Whether a device that can be used stores float16 below 2^-14; "" if that is not known.
std::string denormals(size_t index, const ferry_gpu_info& gpu) {
  bool kept = false;
  if (*gpu.problem != '\0' || ferry_gpu_keeps_denormals(index, &kept) != FERRY_OK) return "";
  return kept ? "kept" : "taken for zero";
}

void print_list(const std::vector<ferry_gpu_info>& gpus, const std::string& reason) {
  if (gpus.empty()) print("no GPU: %s\n", reason.c_str());
  for (size_t i = 0; i < gpus.size(); ++i) {
    const ferry_gpu_info& g = gpus[i];
    print("%zu  %s\n", i, g.name);
    print("   driver  %s\n", g.driver);
    print("   type    %s, Vulkan %d.%d, %s of memory\n", type_name(g.type), g.vulkan_major, g.vulkan_minor,
          bytes_text(g.memory_bytes).c_str());
    if (const std::string words = denormals(i, g); !words.empty())
      print("   float16 values below 2^-14 are %s\n", words.c_str());
    if (*g.problem != '\0') print("   cannot be used: %s\n", g.problem);
  }
}

void print_json(const std::vector<ferry_gpu_info>& gpus, const std::string& reason) {
  nlohmann::json j = {{"devices", nlohmann::json::array()}};
  if (gpus.empty()) j["problem"] = reason;
  for (size_t i = 0; i < gpus.size(); ++i) {
    const ferry_gpu_info& g = gpus[i];
    j["devices"].push_back({{"name", g.name},
                            {"driver", g.driver},
                            {"type", type_name(g.type)},
                            {"vulkan", std::to_string(g.vulkan_major) + "." + std::to_string(g.vulkan_minor)},
                            {"memory_bytes", g.memory_bytes},
                            {"float16_denormals", denormals(i, g)},
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
  json ? print_json(gpus, reason) : print_list(gpus, reason);
  return kDone;
}

}  // namespace

void add_devices(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "devices", "List the GPUs of this machine, or audit one");
  app.footer(
      "\nPrints every device that Vulkan finds. A device that cannot be used has the reason beside it; without any "
      "device\n"
      "the reason is printed. Type `software` is a rasteriser on the CPU (lavapipe, SwiftShader).\n"
      "--audit replays every kernel of a blob at its own sizes for some minutes, under load, and counts the runs that\n"
      "differ from each other or from the CPU, beside temperatures and clocks. Exit status 1: some did.\n"
      "\nExamples:\n"
      "  ferry devices\n"
      "  ferry devices --audit m.ferry --minutes 5\n"
      "  ferry bench m.ferry --backend gpu --device 1\n"
      "  ferry run m.ferry photo.jpg --backend gpu --device radeon");
  auto o = std::make_shared<AuditCommand>();
  app.add_flag("--json", o->json, "Print JSON");
  app.group("Audit");
  app.add_option("--audit", o->model, "Replay the kernels of this blob").type_name("MODEL");
  app.add_option("--minutes", o->minutes, "How long; 0: each kernel once in turn").capture_default_str();
  app.add_option("--device", o->device, "A GPU, by index or part of its name; without it: the best").type_name("NAME");
  app.add_option("--precision", o->precision, "Type of stored values").one_of({"f32", "f16"}).capture_default_str();
  app.add_option("--root", o->root, "Read sysfs below this folder").type_name("FOLDER");
  app.group("Options");
  app.callback([o, exit_code] { *exit_code = o->model.empty() ? devices(o->json) : audit(*o); });
}

}  // namespace ferry::cli
