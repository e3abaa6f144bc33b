// Checkpoints whose publishers allow downloads and whose hashes are known: the list of `ferry get`.
#pragma once

#include <string>
#include <vector>

#include "converter/family.h"

namespace ferry {

struct ZooEntry {
  std::string name;      // "torchvision/resnet50.v2"
  std::string model;     // variant to convert as; empty: the file describes itself (ONNX)
  std::string url;       // of the publisher's file
  std::string revision;  // release or commit; empty: the file's name identifies it
  std::string sha256;    // of the file; or its first digits, as in the publisher's file name
  std::string licence;   // of the publisher's library; weights may have other terms, depending on their training data
  std::string task;      // "classification", as in docs/tasks.md
  std::string input;     // "224x224"
  double megabytes = 0;  // of the download, rounded
};

// Ferry hosts nothing, and lists only files with a reliable SHA-256: computed from the file, recorded by several users
// of it, or begun by the digits in the publisher's file name.
std::vector<ZooEntry> zoo(Families families);

}  // namespace ferry
