// A case of the ONNX project's node tests: a folder with model.onnx, inputs and expected outputs. A case of ours has
// inputs.safetensors and expected.safetensors instead.
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
  Folded,   // the converter computed every output, because no input's values matter
  Refused,  // with a reason
  Wrong
};

struct Outcome {
  Verdict verdict = Verdict::Refused;
  std::string op;  // of the case
  int opset = 0;
  std::string reason;                       // for Refused and Wrong
  std::map<std::string, size_t> operators;  // operators of the blob, by kind
};

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;  // the suite's own; integers must be equal
  double of_largest = 0;                    // relative to the expected output's absolute maximum
};

// Inputs that determine shapes are known at conversion, as in real networks; all others are inputs of the blob. If the
// converter needs more, scalars and all inputs except the first (weights, scales) are known too. Norms
// and convolutions run both ways. `disabled`: recognisers to skip.
Outcome run_case(const std::filesystem::path& folder, const Tolerance& tolerance = {},
                 const std::set<std::string>& disabled = {});

// Compares the results of the blob of `graph`, at the sizes of the folder's inputs, with the expected ones; empty if
// they agree. `data_set`: the number of test_data_set_N. `gpu`: a device (gpus.h); empty: the CPU.
std::string compare_at_sizes(const Graph& graph, const std::filesystem::path& folder, const Tolerance& tolerance,
                             int data_set = 0, const std::string& gpu = "");

}  // namespace ferry::testing
