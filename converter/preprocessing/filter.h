// Filters of resizing by their names.
#pragma once

#include <string>

#include "ferry_generated.h"

namespace ferry {

// In lower case. Throws Error, beginning with `where`, for a name that none has.
fbs::Filter filter_named(const std::string& name, const std::string& where);

}  // namespace ferry
