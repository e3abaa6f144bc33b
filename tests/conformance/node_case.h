// A case of the ONNX project's node tests: a folder with model.onnx and, beside it, inputs and what must come out.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry::testing {

enum class Verdict {
  Passed,   // through converter, blob and runtime
  Folded,   // the converter computed every output: they do not depend on any input's values
  Refused,  // with a reason
  Wrong
};

struct Outcome {
  Verdict verdict = Verdict::Refused;
  std::string op;  // that the case is about
  int opset = 0;
  std::string reason;                       // of Refused and Wrong
  std::map<std::string, size_t> operators;  // in the blob, by kind
};

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;  // the suite's own; integers are compared exactly
  double of_largest = 0;                    // and of the expected output's largest magnitude
};

// Inputs that shapes follow from are known at conversion, as they are in networks, all others are the blob's. Where the
// converter wants more, so are single numbers and all inputs but the first: weights, scales.
// `disabled`: recognisers that are left out.
Outcome run_case(const std::filesystem::path& folder, const Tolerance& tolerance = {},
                 const std::set<std::string>& disabled = {});

// What the blob of `graph` computes at the sizes of the folder's inputs, against what is expected; "" where they agree.
std::string compare_at_sizes(const Graph& graph, const std::filesystem::path& folder, const Tolerance& tolerance);

}  // namespace ferry::testing
