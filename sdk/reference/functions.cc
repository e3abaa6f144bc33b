#include "sdk/reference/ops.h"

namespace ferry::reference {

Function function_of(fbs::OpParams type) {
  switch (type) {
#define FERRY_FUNCTION(Type, name, ...) \
  case fbs::OpParams::Type: return name;
    FERRY_OPERATORS(FERRY_FUNCTION)
#undef FERRY_FUNCTION
    case fbs::OpParams::NONE: break;
  }
  return nullptr;
}

}  // namespace ferry::reference
