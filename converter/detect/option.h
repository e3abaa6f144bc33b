// `ferry convert --detect`, for formats whose files do not say how boxes are computed.
#pragma once

#include <optional>

#include "converter/detect/detector.h"
#include "converter/option.h"

namespace ferry::detect {

const Option& detect_option();

// What --detect, --labels and the options of images request; nothing for --detect none.
std::optional<DetectorRequest> detector_request(const Settings& given);

// Throws Error for options that a network which became a detector has no use for.
void refuse_other_tasks(const Settings& given);

}  // namespace ferry::detect
