// Networks that belong together: MediaPipe's .task files, zip archives with a detector and the network that finds the
// points of what it detects.
#pragma once

#include "converter/tflite/file.h"

namespace ferry::tflite {

struct Bundle {
  File detector;
  File points;
};

// Whether it is a zip archive of .tflite files.
bool looks_like_bundle(const MappedFile& file);

// Throws Error if the archive is damaged or has other networks.
Bundle open_bundle(const std::shared_ptr<const MappedFile>& file);

}  // namespace ferry::tflite
