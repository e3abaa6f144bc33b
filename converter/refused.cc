#include "converter/refused.h"

namespace ferry {

std::string to_string(const Reason& reason) {
  if (reason.op.empty()) return reason.what;
  if (reason.by_index)
    return "operator " + reason.node + " (" + reason.op + ", version " + std::to_string(reason.opset) +
           "): " + reason.what;
  return "node '" + reason.node + "' (" + reason.op + ", opset " + std::to_string(reason.opset) + "): " + reason.what;
}

Refused::Refused(std::string file, std::vector<Reason> reasons)
    : Error(file + " cannot be converted: " + to_string(reasons.front()) +
            (reasons.size() > 1 ? "; and " + std::to_string(reasons.size() - 1) + " more" : "")),
      file_(std::move(file)),
      reasons_(std::move(reasons)) {}

}  // namespace ferry
