// ferry devices --audit
#pragma once

#include <string>

namespace ferry::cli {

struct AuditCommand {
  std::string model, device, precision = "f32", root;
  float minutes = 5;
  bool json = false;
};

// Replays the blob's kernels and prints what differed. Returns kDone, or kCheckFailed if something did.
int audit(const AuditCommand& command);

}  // namespace ferry::cli
