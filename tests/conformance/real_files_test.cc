// Files of kinds that people really have (shared/cases), with right values by definition, PyTorch or ONNX Runtime.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/conformance/node_case.h"
#include "tests/shared.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

// Refused with a reason until the converter reads them.
const std::set<std::string> kRefused = {"int64-beyond-32-bits/int64_hash"};

TEST(RealFiles, AreRightOrRefused) {
  const fs::path cases = shared_dir() / "cases";
  if (!fs::is_directory(cases)) GTEST_SKIP() << "not here: ../shared (set FERRY_SHARED)";
  int count = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(cases)) {
    const fs::path folder = entry.path();
    if (!fs::exists(folder / "model.onnx") || !fs::exists(folder / "expected.safetensors")) continue;
    const std::string name = fs::relative(folder, cases).string();
    const Outcome outcome = run_case(folder);
    const bool right = outcome.verdict == Verdict::Passed || outcome.verdict == Verdict::Folded;
    EXPECT_EQ(right, !kRefused.contains(name)) << name << ": " << outcome.reason;
    EXPECT_NE(outcome.verdict, Verdict::Wrong) << name << ": " << outcome.reason;
    ++count;
  }
  EXPECT_GE(count, 20);
}

}  // namespace
}  // namespace ferry::testing
