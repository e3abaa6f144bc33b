// Up to four elementwise steps on a quad of the output before it is stored (sdk/gpu/lowering/epilogue.h). Kernels that
// have one begin their push constants with EPILOGUE_PUSH.
#include "kinds.glsl"
#include "sigmoid.glsl"

// A step is kind + 256 * source of its other operand, as in sdk/gpu/lowering/epilogue.h.
layout(constant_id = 3) const uint kStep0 = 0;
layout(constant_id = 4) const uint kStep1 = 0;
layout(constant_id = 5) const uint kStep2 = 0;
layout(constant_id = 6) const uint kStep3 = 0;

const uint kNone = 0;

#define EPILOGUE_PUSH                                                        \
  vec2 step_args[4];     /* alpha and beta of each step */                   \
  uint channels;         /* length of the output's rows */                   \
  uint row_quads;        /* quads of an output row */                        \
  uint vectors;          /* first quad of the steps' vectors in the weights */ \
  uint operand_rows;     /* output rows that share one row of the operand */

vec4 tanh_stable(vec4 x) { return 1 - 2 / (exp(2 * clamp(x, -10, 10)) + 1); }

// Abramowitz and Stegun 7.1.26: absolute error at most 1.5e-7.
vec4 erf_approximation(vec4 x) {
  const vec4 a = min(abs(x), vec4(9)), t = 1 / (1 + 0.3275911 * a);
  const vec4 p = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return sign(x) * (1 - p * exp(-a * a));
}

vec4 epilogue_step(uint step, vec4 x, vec4 operand, vec2 args) {
  switch (step & 255) {
    case kClamp: return clamp(x, args.x, args.y);
    case kLeakyRelu: return mix(x, x * args.x, lessThan(x, vec4(0)));
    case kSigmoid: return sigmoid(x);
    case kTanh: return tanh_stable(x);
    case kHardSwish: return x * clamp(x / 6 + 0.5, 0, 1);
    case kSilu: return silu(x, 1);
    case kGelu: return 0.5 * x * (1 + erf_approximation(x * 0.70710678118654752));
    case kAbs: return abs(x);
    case kNeg: return -x;
    case kExp: return exp(x);
    case kSqrt: return sqrt(x);
    case kSquare: return x * x;
    case kHardSigmoid: return clamp(x / 6 + 0.5, 0, 1);
    case kGeluTanh: return gelu_tanh(x);
    case kLog: return mix(log(x), vec4(uintBitsToFloat(0xff800000)), equal(x, vec4(0)));
    case kErf: return erf_approximation(x);
    case kAdd: return x + operand;
    case kSub: return x - operand;
    case kMul: return x * operand;
    case kDiv: return x / operand;
    case kMax: return max(x, operand);
    case kMin: return min(x, operand);
    case kPRelu: return mix(x * operand, x, greaterThan(x, vec4(0)));
    case kReverseSub: return operand - x;
    case kReverseDiv: return operand / x;
    case kReversePRelu: return mix(operand * x, operand, greaterThan(operand, vec4(0)));
    default: return x;
  }
}

// `vector`: number of steps with a vector so far. The conditions are constants, so the driver keeps one branch.
#define EPILOGUE_STEP(i, step)                                                                     \
  if (step != kNone) {                                                                             \
    vec4 operand = vec4(push.step_args[i].x);                                                      \
    if (step >> 8 == kVector) operand = LOAD_WEIGHT(push.vectors + vector++ * push.row_quads + quad); \
    if (step >> 8 == kTensor) operand = LOAD_OPERAND(row / push.operand_rows * push.row_quads + quad); \
    x = epilogue_step(step, x, operand, push.step_args[i]);                                        \
  }

// Applies the epilogue to quad `quad` of output row `row`.
#define EPILOGUE                                                                  \
  vec4 epilogue(vec4 x, uint row, uint quad) {                                    \
    uint vector = 0;                                                              \
    EPILOGUE_STEP(0, kStep0)                                                      \
    EPILOGUE_STEP(1, kStep1)                                                      \
    EPILOGUE_STEP(2, kStep2)                                                      \
    EPILOGUE_STEP(3, kStep3)                                                      \
    return mask_lanes(x, quad * 4, push.channels);                                \
  }
