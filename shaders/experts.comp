#version 450
// One of the two products of a mixture of experts. An output row is a token's result of one expert (gates and ups,
// combined) or the weighted sum over a token's experts (downs). Invocations share the sums of an output quad.
#include "common.glsl"
#include "sigmoid.glsl"
#include "kinds.glsl"
#include "tile.glsl"
#include "weights.glsl"

layout(constant_id = 3) const bool kDown = false;
layout(constant_id = 4) const uint kActivation = 0;  // fbs::ExpertsActivation, of gates

layout(push_constant) uniform Push {
  uint tokens;
  uint chosen;        // experts per token
  uint chosen_quads;  // quads per row of expert indices
  uint shares;        // first quad of the rows of shares, after the indices
  uint experts;
  uint input_quads;
  uint output_quads;
  uint bias;    // first quad in the weights; 0: none
  uint scales;  // as in weights.glsl
  float alpha, limit;
} push;

const uint kThreads = 64, kSplit = 16;  // the workgroup; invocations that share a quad's sums, a power of two
const uint kMatrices = kDown ? 1 : 2;   // gates and ups
shared vec4 partial[2 * kThreads];

vec4 join(vec4 gate, vec4 up) {
  if (kActivation == kExpertsSilu) return silu(gate, 1) * up;
  if (kActivation == kExpertsGeluTanh) return gelu_tanh(gate) * up;
  gate = min(gate, push.limit);
  return silu(gate, push.alpha) * (clamp(up, -push.limit, push.limit) + 1);
}

void main() {
  const uint thread = gl_LocalInvocationIndex, part = thread % kSplit, blocks = (push.output_quads + 3) / 4;
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint row = group / blocks, quad = group % blocks * (kThreads / kSplit) + thread / kSplit;
  if (row >= push.tokens * (kDown ? 1 : push.chosen)) return;  // for the whole workgroup
  const uint token = kDown ? row : row / push.chosen;
  const uint first = kDown ? 0 : row % push.chosen, last = kDown ? push.chosen : first + 1;
  vec4 sums[2] = {vec4(0), vec4(0)};
  for (uint i = first; i < last; ++i) {
    const uint at = token * push.chosen_quads + i / 4;
    const float number = LOAD_OPERAND(at)[i % 4];
    // An expert that does not exist gives NaN.
    const bool known = number >= 0 && number < push.experts;
    const float share = !known ? uintBitsToFloat(0x7fc00000) : kDown ? LOAD_OPERAND(push.shares + at)[i % 4] : 1;
    const uint inputs = (kDown ? token * push.chosen + i : token) * push.input_quads;
    for (uint m = 0; m < kMatrices; ++m) {
      const uint output_quad = ((known ? uint(number) : 0) * kMatrices + m) * push.output_quads +
                               min(quad, push.output_quads - 1);
      const uint weights = output_quad * push.input_quads * 4, scales = FIRST_SCALE(output_quad);
      vec4 sum = part == 0 ? LOAD_BIAS(output_quad) : vec4(0);
      for (uint k = part; k < push.input_quads; k += kSplit)
        sum = multiply_add(sum, LOAD_INPUT(inputs + k), load_weights4(weights + k * 4, scales, k));
      sums[m] += share * sum;
    }
  }
  for (uint m = 0; m < kMatrices; ++m) partial[m * kThreads + thread] = sums[m];
  barrier();
  for (uint n = kSplit / 2; n > 0; n /= 2) {
    if (part < n)
      for (uint m = 0; m < kMatrices; ++m) partial[m * kThreads + thread] += partial[m * kThreads + thread + n];
    barrier();
  }
  if (part > 0 || quad >= push.output_quads) return;
  const vec4 sum = partial[thread];
  STORE_OUTPUT(row * push.output_quads + quad, kDown ? sum : join(sum, partial[kThreads + thread]));
}
