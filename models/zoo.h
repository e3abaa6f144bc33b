// Checkpoints that their publishers let everybody download, and whose bytes are known: `ferry get`.
#pragma once

#include <string>
#include <vector>

#include "converter/family.h"

namespace ferry {

struct ZooEntry {
  std::string name;      // "torchvision/resnet50.v2"
  std::string model;     // the variant that it is converted as; empty: the file says it (ONNX)
  std::string url;       // the publisher's
  std::string revision;  // which of the publisher's states: a release or a commit; empty: the file's name says it
  std::string sha256;    // of the file, or the first digits, by which the publisher calls it
  std::string licence;  // of the publisher's library; weights may have terms of their own, by what they were trained on
  std::string task;     // "classification", as docs/tasks.md calls them
  std::string input;    // "224x224"
  double megabytes = 0;  // of the download, rounded
};

// Nothing is hosted by Ferry, and what is not known for certain is not here: a SHA-256 is of bytes that we had, or was
// written down by several who had the publisher's file, or is begun by the digits in the name that the publisher gave.
std::vector<ZooEntry> zoo(Families families);

}  // namespace ferry
