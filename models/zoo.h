// Checkpoints that their publishers let everybody download, and whose bytes are known: `ferry get`.
#pragma once

#include <string>
#include <vector>

#include "converter/family.h"

namespace ferry {

struct ZooEntry {
  std::string name;     // "torchvision/resnet50.v2", which --model takes, too
  std::string url;      // the publisher's
  std::string sha256;   // the digits that the publisher calls the file by: the first ones
  std::string licence;  // of the publisher's library; weights may have terms of their own, by what they were trained on
  std::string task;     // "classification"
  std::string input;    // "224x224"
};

// Every published training whose file's SHA-256 is known, if only its first digits: nothing is hosted by Ferry, and
// what is not known for certain is not here.
std::vector<ZooEntry> zoo(Families families);

}  // namespace ferry
