// What a task answers, for people, for programs and as files: a row a kind of answer.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/run.h"
#include "sdk/image/pixels.h"

namespace ferry::cli {

struct AnswerEntry {
  const char* suffix;  // of the file's name, behind the image's; null: there is no file
  bool drawn;          // on the image, and only where a file is asked for
  // Prints the answer; `file` is what was written, `image` what it was made of.
  void (*print)(const RunOptions& options, const ferry_answer& answer, const std::string& file,
                const image::View& image);
  void (*describe)(const ferry_answer& answer, nlohmann::ordered_json* json);
};

const AnswerEntry& answer_entry(ferry_answer_kind kind);

// "_x4": how a file that `options` do not name is told from `image`'s own, without its ending.
std::string answer_suffix(const AnswerEntry& entry, const ferry_answer& answer, const image::View& image);

}  // namespace ferry::cli
