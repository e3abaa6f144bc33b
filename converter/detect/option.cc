#include "converter/detect/option.h"

#include <algorithm>

#include "converter/detect/detector_spec.h"
#include "converter/error.h"
#include "converter/suggest.h"

namespace ferry::detect {
namespace {

constexpr const char *kDetect = "detect", *kNone = "none";

// A known name, "none", or a file.
void known_detector(const Option& option, const Settings& given, Families) {
  const std::string detector = given.text(option.name);
  std::vector<std::string> names = known_names();
  names.emplace_back(kNone);
  if (detector.ends_with(".json") || std::find(names.begin(), names.end(), detector) != names.end()) return;
  fail("--%s %s: expected one of %s, none, or a file.json%s", option.name.c_str(), detector.c_str(),
       known_names_text().c_str(), did_you_mean(detector, names).c_str());
}

}  // namespace

const Option& detect_option() {
  static const Option kOption = {
      .name = kDetect,
      .argument = "DETECTOR",
      .help = "Detector whose post-processing computes boxes from the outputs: " + known_names_text() +
              "; a FILE.json that describes one (docs/tasks.md); or none. Default: recognised by the outputs",
      .check = known_detector,
      .records = Option::Records::FileName};
  return kOption;
}

std::optional<DetectorRequest> detector_request(const Settings& given) {
  const std::string detector = given.text(kDetect);
  if (detector == kNone) return {};
  return DetectorRequest{.detector = detector, .image = image_settings(given), .labels = given.text("labels")};
}

void refuse_other_tasks(const Settings& given) {
  for (const char* option : {"like", "task"})
    if (given.has(option))
      fail("--%s %s: not for a detector, which has its own preprocessing and task (--detect)", option,
           given.text(option).c_str());
}

}  // namespace ferry::detect
