// An operator's parameters as text.
#pragma once

#include <string>

#include "ferry_generated.h"

namespace ferry::cli {

// "stride 2x2, padding top 1 ..."; "no parameters" for kinds without any.
std::string parameters_text(const fbs::OperatorT& op);

}  // namespace ferry::cli
