#include "models/zoo.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ferry {
namespace {

// Those that torchvision serves as ARCHITECTURE-DIGITS.pth where torch.hub looks for files (their `url` in its source);
// not efficientnet_b1.v1, whose file has another name.
constexpr const char* kTorchvision[] = {
    "torchvision/resnet50.v2",           "torchvision/resnet50.v1",        "torchvision/resnet101.v2",
    "torchvision/resnet101.v1",          "torchvision/resnet152.v2",       "torchvision/resnet152.v1",
    "torchvision/mobilenet_v2.v2",       "torchvision/mobilenet_v2.v1",    "torchvision/mobilenet_v3_large.v2",
    "torchvision/mobilenet_v3_large.v1", "torchvision/efficientnet_b1.v2",
};

}  // namespace

std::vector<ZooEntry> zoo(Families families) {
  std::vector<ZooEntry> out;
  for (const Family* family : families)
    for (const Variant* v : family->variants()) {
      const bool served = std::find(std::begin(kTorchvision), std::end(kTorchvision), v->hub) != std::end(kTorchvision);
      if (v->digest.empty() || !served) continue;
      out.push_back({.name = v->hub,
                     .url = "https://download.pytorch.org/models/" + v->architecture + "-" + v->digest + ".pth",
                     .sha256 = v->digest,
                     .licence = "BSD-3-Clause",
                     .task = "classification",
                     .input = family->describe(*v).input});
    }
  return out;
}

}  // namespace ferry
