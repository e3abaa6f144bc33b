// The options of a custom operator that are a map by name (a flexbuffer).
#pragma once

#include <cstdint>
#include <vector>

#include "converter/tflite/op.h"

namespace ferry::tflite {

// The constructor and the functions throw Error for what is no map, and for values out of range. A value that the map
// lacks is 0 or empty.
class CustomOptions {
 public:
  explicit CustomOptions(const Op& op);

  bool has(const char* name) const;
  bool flag(const char* name) const;
  // From 1 to `most`.
  int count(const char* name, int otherwise, int most) const;
  double number(const char* name, double least) const;
  // From 0 to `below` - 1.
  int index(const char* name, int below) const;
  // A list of such.
  std::vector<int> indices(const char* name, int below) const;

 private:
  const Op& op_;
  std::vector<uint8_t> bytes_;  // aligned, as the file's need not be
};

}  // namespace ferry::tflite
