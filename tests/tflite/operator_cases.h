// One small .tflite file per operator and option, whose outputs TensorFlow Lite's interpreter computed
// (tests/data/tflite/operators.safetensors, made by make_operators).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/tflite/file_builder.h"

namespace ferry::testing {

struct OperatorCase {
  std::string name;
  std::vector<int> (*build)(FileBuilder& b);  // the outputs
};

const std::vector<OperatorCase>& operator_cases();

// The values of input `i`: small integers where `integers`.
std::vector<float> case_input(size_t elements, size_t i, bool integers);

}  // namespace ferry::testing
