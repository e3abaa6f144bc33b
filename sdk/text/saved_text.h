// The text part of a generator's file, which is the note of its states (docs/format.md, "Saved texts").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sdk/status.h"

namespace ferry {

struct SavedText {
  std::vector<int32_t> tokens;
  uint32_t done = 0;    // tokens that the states contain
  bool ended = false;   // the last token ended the text
  uint64_t random = 0;  // state of the random numbers
  std::string held;     // characters that may begin a stop string
  std::string note;     // of the app
};

std::string written(const SavedText& text);
// Parses untrusted bytes. FERRY_CORRUPT: they are no saved text. FERRY_UNSUPPORTED_VERSION. Values are not checked
// against a model.
Status read_saved_text(std::span<const std::byte> bytes, SavedText* out);

}  // namespace ferry
