// What a generator's file holds of its text, beside the states: their note (docs/format.md, "Saved texts").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sdk/status.h"

namespace ferry {

struct SavedText {
  std::vector<int32_t> tokens;
  uint32_t done = 0;    // of them the states have seen
  bool ended = false;   // with the last one
  uint64_t random = 0;  // where the random numbers are
  std::string held;     // characters that may begin a stop string
  std::string note;     // the app's own
};

std::string written(const SavedText& text);
// Of any bytes. FERRY_CORRUPT where they are no such text, FERRY_UNSUPPORTED_VERSION. What its numbers have to do with
// a model is not looked at.
Status read_saved_text(std::span<const std::byte> bytes, SavedText* out);

}  // namespace ferry
