// Operators of the domain com.microsoft agree with ONNX Runtime's results (make_microsoft.py), and docs/onnx.md names
// all of them. FERRY_WRITE_CONFORMANCE=1 writes that table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "converter/onnx/op.h"
#include "tests/conformance/node_case.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

constexpr Tolerance kRounding{.relative = 1e-5, .absolute = 1e-6, .of_largest = 1e-5};

// In docs/onnx.md, around what the test writes.
constexpr char kTableBegin[] = "<!-- com.microsoft: written by tests/conformance -->\n";
constexpr char kTableEnd[] = "<!-- end of com.microsoft -->\n";

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Microsoft, OperatorsAgreeWithOnnxRuntime) {
  std::set<std::string> tested;
  for (const auto& entry : fs::directory_iterator(source_folder() / "tests" / "data" / "onnx" / "microsoft")) {
    const Outcome outcome = run_case(entry.path(), kRounding, {"dynamic_quantization"});
    EXPECT_EQ(outcome.verdict, Verdict::Passed) << entry.path().filename() << ": " << outcome.reason;
    for (const onnx::Node& node : onnx::read_model(entry.path() / "model.onnx").nodes)
      if (node.domain == "com.microsoft") tested.insert(node.op);
  }
  for (const onnx::OpRow& row : onnx::operators_of("com.microsoft"))
    EXPECT_EQ(row.function != nullptr, tested.contains(std::string(row.op))) << row.op;
}

// Whole networks after ONNX Runtime's optimizer (make_optimized.py) give PyTorch's results.
TEST(Microsoft, OptimizedNetworksAgreeWithTheirFramework) {
  for (const char* name : {"vit", "vit_batch", "cnn"}) {
    const fs::path folder = source_folder() / "tests" / "data" / "onnx" / "optimized" / name;
    const Outcome outcome = run_case(folder, {.relative = 0, .absolute = 1e-6, .of_largest = 1e-4});
    EXPECT_EQ(outcome.verdict, Verdict::Passed) << name << ": " << outcome.reason;
    const std::vector<onnx::Node> nodes = onnx::read_model(folder / "model.onnx").nodes;
    EXPECT_TRUE(
        std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.domain == "com.microsoft"; }));
  }
}

// The supported operators, then those that are refused, by reason.
std::string operator_table() {
  std::string supported;
  std::map<std::string, std::string> refused;
  size_t column = 0;
  for (const onnx::OpRow& row : onnx::operators_of("com.microsoft")) {
    const std::string op(row.op);
    if (row.function == nullptr) {
      std::string& list = refused[row.refused];
      list += (list.empty() ? "" : ", ") + op;
      continue;
    }
    const bool wraps = column + 2 + op.size() > 118;
    supported += supported.empty() ? "" : wraps ? ",\n" : ", ";
    column = wraps ? op.size() : column + 2 + op.size();
    supported += op;
  }
  std::string text = "\nSupported: \n" + supported + ".\n\n| refused | reason |\n| --- | --- |\n";
  text.erase(text.find(" \n"), 1);
  for (const auto& [reason, list] : refused) text += "| " + list + " | " + reason + " |\n";
  return text + "\n";
}

TEST(Microsoft, TheDocumentationNamesEveryOperator) {
  const fs::path page = source_folder() / "docs" / "onnx.md";
  const std::string text = text_of(page);
  const size_t begin = text.find(kTableBegin), end = text.find(kTableEnd);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << "docs/onnx.md has no place for the table";
  const size_t first = begin + sizeof kTableBegin - 1;
  const std::string table = operator_table();
  if (std::getenv("FERRY_WRITE_CONFORMANCE"))
    std::ofstream(page, std::ios::binary) << text.substr(0, first) << table << text.substr(end);
  EXPECT_TRUE(text.substr(first, end - first) == table)
      << "docs/onnx.md is stale: run this test with FERRY_WRITE_CONFORMANCE=1";
}

// Domains and operators that are unknown are named in the refusal.
TEST(Microsoft, UnknownOperatorsAreNamedWithTheirDomain) {
  const auto why = [](const char* domain, const char* op) {
    onnx::Node node;
    node.domain = domain;
    node.op = op;
    EXPECT_EQ(onnx::find_op(node), nullptr);
    return onnx::why_unsupported(node);
  };
  EXPECT_EQ(
      why("com.example", "Frobnicate"),
      "Frobnicate of domain 'com.example' is not supported: operators are those of ONNX and of 'com.microsoft', or "
      "functions in the file");
  EXPECT_EQ(why("com.microsoft", "Frobnicate"),
            "Frobnicate of domain 'com.microsoft' is not supported: the domain has no operator of this name");
  EXPECT_NE(why("com.microsoft", "BeamSearch").find("generate with ferry run"), std::string::npos);
  EXPECT_NE(why("com.microsoft.nchwc", "Conv").find("write the file at level 'extended'"), std::string::npos);
  std::string_view before;
  for (const onnx::OpRow& row : onnx::operators_of("com.microsoft")) {
    EXPECT_LT(before, row.op);
    EXPECT_TRUE((row.function == nullptr) == (row.refused != nullptr)) << row.op;
    before = row.op;
  }
}

}  // namespace
}  // namespace ferry::testing
