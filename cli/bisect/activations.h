// The activation functions that networks are known to use.
#pragma once

#include <limits>

#include "ferry_generated.h"

namespace ferry::bisect {

struct Activation {
  const char* name;
  fbs::UnaryKind kind;
  float alpha = 0, beta = 0;
};

inline constexpr Activation kActivations[] = {
    {"none", fbs::UnaryKind::Clamp, -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()},
    {"ReLU", fbs::UnaryKind::Clamp, 0, std::numeric_limits<float>::infinity()},
    {"ReLU6", fbs::UnaryKind::Clamp, 0, 6},
    {"leaky ReLU of 0.01", fbs::UnaryKind::LeakyRelu, 0.01f},
    {"leaky ReLU of 0.1", fbs::UnaryKind::LeakyRelu, 0.1f},
    {"leaky ReLU of 0.2", fbs::UnaryKind::LeakyRelu, 0.2f},
    {"GELU (erf)", fbs::UnaryKind::Gelu},
    {"GELU (tanh)", fbs::UnaryKind::GeluTanh},
    {"SiLU", fbs::UnaryKind::Silu},
    {"hard swish", fbs::UnaryKind::HardSwish},
    {"sigmoid", fbs::UnaryKind::Sigmoid},
    {"hard sigmoid", fbs::UnaryKind::HardSigmoid},
    {"tanh", fbs::UnaryKind::Tanh},
};

}  // namespace ferry::bisect
