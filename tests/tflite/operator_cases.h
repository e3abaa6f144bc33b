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
namespace on_integers {
const std::vector<OperatorCase>& cases();
}
namespace recurrent {
const std::vector<OperatorCase>& cases();
}
namespace control {
const std::vector<OperatorCase>& cases();
}
namespace parts {
const std::vector<OperatorCase>& cases();
}
namespace scatters {
const std::vector<OperatorCase>& cases();
}
namespace detection {
const std::vector<OperatorCase>& cases();
}

// The values of input `i` in the file's type: of floats on [-4, 4), small ones of integers, all of integers with a
// scale.
std::vector<double> case_input(const schema::Tensor& tensor, size_t elements, size_t i);

}  // namespace ferry::testing
