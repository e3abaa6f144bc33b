// An operator's parameters in words.
#pragma once

#include <string>

#include "ferry_generated.h"

namespace ferry::cli {

// "stride 2x2, padding top 1 ..."; "no parameters" of kinds that have none, or none that tell two of them apart.
std::string parameters_text(const fbs::OperatorT& op);

}  // namespace ferry::cli
