// Operators of the domain com.microsoft agree with ONNX Runtime's results (make_microsoft.py), and docs/onnx.md names
// all of them. FERRY_WRITE_CONFORMANCE=1 writes that table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "converter/onnx/op.h"
#include "tests/conformance/node_case.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

constexpr Tolerance kRounding{.relative = 1e-5, .absolute = 1e-6, .of_largest = 1e-5};

// Operators with functions of their own that no case of the folder names, with the reason.
const std::set<std::string> kUntested = {"BitmaskBiasDropout", "BitmaskDropout", "FusedMatMulActivation",
                                         "RelativePositionBias"};

TEST(Microsoft, OperatorsAgreeWithOnnxRuntime) {
  std::set<std::string> tested;
  for (const auto& entry : fs::directory_iterator(source_folder() / "tests" / "data" / "onnx" / "microsoft")) {
    const Outcome outcome = run_case(entry.path(), kRounding);
    EXPECT_EQ(outcome.verdict, Verdict::Passed) << entry.path().filename() << ": " << outcome.reason;
    for (const onnx::Node& node : onnx::read_model(entry.path() / "model.onnx").nodes)
      if (node.domain == "com.microsoft") tested.insert(node.op);
  }
  for (const onnx::OpRow& row : onnx::operators_of("com.microsoft"))
    EXPECT_EQ(row.function != nullptr && !kUntested.contains(std::string(row.op)), tested.contains(std::string(row.op)))
        << row.op;
}

}  // namespace
}  // namespace ferry::testing
