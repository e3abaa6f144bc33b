// Every operator case of the ONNX project runs through converter, blob and runtime. It passes, or the converter says
// why it does not: no wrong result, no crash. docs/onnx.md has the numbers; FERRY_WRITE_CONFORMANCE=1 writes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "tests/conformance/node_case.h"
#include "tests/shared.h"
#include "tests/support/paths.h"

namespace ferry::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kBegin[] = "<!-- conformance: written by tests/conformance -->\n";
// The refused cases with reasons; all others pass.
constexpr char kSkipList[] = "tests/conformance/refused.txt";

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// For one operator at one opset.
struct Row {
  int passed = 0, folded = 0, refused = 0;
  std::map<std::string, int> reasons;  // number of cases by reason
};

std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

// One line per refused case: its name, a tab, the reason.
std::string skip_list(const std::map<std::string, Outcome>& outcomes) {
  std::string text;
  for (const auto& [name, outcome] : outcomes)
    if (outcome.verdict == Verdict::Refused) text += name + "\t" + outcome.reason + "\n";
  return text;
}

// The numbers of cases by verdict, then the refused ones by operator and opset.
std::string table(const std::map<std::string, Outcome>& outcomes) {
  std::map<std::string, std::map<int, Row>> operators;
  Row all;
  for (const auto& [name, outcome] : outcomes) {
    Row& row = operators[outcome.op.empty() ? "(not read)" : outcome.op][outcome.opset];
    for (Row* r : {&row, &all}) {
      r->passed += outcome.verdict == Verdict::Passed;
      r->folded += outcome.verdict == Verdict::Folded;
      r->refused += outcome.verdict == Verdict::Refused;
    }
    if (outcome.verdict == Verdict::Refused) ++row.reasons[outcome.reason];
  }
  std::string refused;
  for (const auto& [name, opsets] : operators)
    for (const auto& [opset, row] : opsets)
      for (const auto& [reason, count] : row.reasons)
        refused += "| " + name + " | " + std::to_string(opset) + " | " + std::to_string(count) + " of " +
                   std::to_string(row.passed + row.folded + row.refused) + " | " + cell(reason) + " |\n";
  return kBegin +
         ("\nOf " + std::to_string(outcomes.size()) + " cases " + std::to_string(all.passed) +
          " pass through the runtime, " + std::to_string(all.folded) + " are computed by the converter, " +
          std::to_string(all.refused) +
          " are refused; none is wrong.\n\n| operator | opset | refused | reason |\n| --- | --- | --- | --- |\n") +
         refused;
}

TEST(OnnxConformance, EveryCasePassesOrIsRefused) {
  const fs::path cases = shared_dir() / "onnx-node-tests";
  if (shared_dir().empty() || !fs::is_directory(cases)) GTEST_SKIP() << "no ../shared/onnx-node-tests here";
  std::map<std::string, Outcome> outcomes;
  for (const auto& entry : fs::directory_iterator(cases)) {
    const std::string name = entry.path().filename().string();
    if (!fs::exists(entry.path() / "model.onnx")) continue;
    const Outcome outcome = outcomes[name] = run_case(entry.path());
    EXPECT_NE(outcome.verdict, Verdict::Wrong) << name << ": " << outcome.reason;
    EXPECT_TRUE(outcome.verdict != Verdict::Refused || !outcome.reason.empty()) << name;
  }
  ASSERT_GE(outcomes.size(), 900u);
  const auto refused = std::count_if(outcomes.begin(), outcomes.end(),
                                     [](const auto& o) { return o.second.verdict == Verdict::Refused; });
  EXPECT_LE(static_cast<double>(refused), 0.05 * static_cast<double>(outcomes.size()));

  const fs::path page = source_folder() / "docs" / "onnx.md", list = source_folder() / kSkipList;
  const std::string text = read_text(page);
  const size_t begin = text.find(kBegin);
  ASSERT_NE(begin, std::string::npos) << "docs/onnx.md has no place for the table";
  const std::string rows = table(outcomes), skipped = skip_list(outcomes);
  if (std::getenv("FERRY_WRITE_CONFORMANCE")) {
    std::ofstream(page, std::ios::binary) << text.substr(0, begin) << rows;
    std::ofstream(list, std::ios::binary) << skipped;
  }
  EXPECT_TRUE(read_text(page).substr(begin) == rows)
      << "docs/onnx.md is stale: run this test with FERRY_WRITE_CONFORMANCE=1";
  EXPECT_EQ(read_text(list), skipped) << "a case is refused for another reason than " << kSkipList
                                      << " says, or passes";
}

}  // namespace
}  // namespace ferry::testing
