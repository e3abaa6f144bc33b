// What the commands print about files that are not converted.
#pragma once

#include <string>
#include <vector>

#include "converter/refused.h"

namespace ferry::cli {

// Every reason why a file cannot be converted: to standard error, or as JSON to standard output. Returns the exit code.
int print_refusal(const Refused& refused, bool json);

// Whether inspect_source() describes the file: its format says what is inside before conversion.
bool has_outline(const std::string& path);
// Operators, parameters, multiply-adds and what would be refused. `shapes` and `network` as --shape and --network
// have them.
int inspect_source(const std::string& path, const std::vector<std::string>& shapes, const std::string& network,
                   bool json);

// Throws Error if a file is there and is no blob: a checkpoint or ONNX file must be converted first; of other formats
// and mistakes the sentence says what the file is. Other damage is left to the library.
void require_blob(const std::string& path);

}  // namespace ferry::cli
