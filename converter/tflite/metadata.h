// What TensorFlow Lite's metadata says of a file's images and classes.
#pragma once

#include <string>
#include <vector>

#include "converter/preprocessing/image_settings.h"
#include "converter/tflite/file.h"

namespace ferry::tflite {

struct Metadata {
  ImageSettings image;                   // of input 0; empty if it is not said
  std::vector<std::string> label_files;  // in the appended archive: classes of the outputs, the first ones first
};

// Empty for a file without metadata, and for metadata that is damaged.
Metadata read_metadata(const File& file);

}  // namespace ferry::tflite
