// How answers are printed, described as JSON, and named as files: one row per kind.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/run.h"
#include "sdk/image/pixels.h"

namespace ferry::cli {

struct AnswerEntry {
  const char* suffix;  // appended to the image's name; null: no file is written
  bool drawn;          // drawn on the image, only with -o
  // Prints the answer for `image`; `file` is the name of the written file.
  void (*print)(const RunOptions& options, const ferry_answer& answer, const std::string& file,
                const image::View& image);
  void (*describe)(const ferry_answer& answer, nlohmann::ordered_json* json);
};

const AnswerEntry& answer_entry(ferry_answer_kind kind);

// The suffix of a file that -o does not name, without the ending: "_x4".
std::string answer_suffix(const AnswerEntry& entry, const ferry_answer& answer, const image::View& image);

}  // namespace ferry::cli
