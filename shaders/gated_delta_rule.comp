#version 450
// Gated delta rule, token by token: S = e^g S; S = S + k^T (beta (v - k S)); y = q S. Columns of S are independent: a
// workgroup processes kQuads quads of them over all tokens, and kParts invocations share the rows of each.
#define STATE_TYPE vec4
#include "common.glsl"

layout(constant_id = 3) const uint kRows = 1;  // rows of S per invocation

layout(push_constant) uniform Push {
  uint samples, tokens, heads;
  uint shared_heads;                // heads that share a query/key head
  uint key_size;                    // rows of S
  uint value_quads;                 // per row of S
  uint chunks;                      // workgroups per row of S
  uint left;                        // first quad of the rounding errors of S, after all of S
  uint key_quads, gate_quads;       // per token's row of queries or keys, and of g or beta
  uint keys, values, gates, betas;  // first quads, after the queries, which begin the input
} push;

const uint kQuads = 4, kParts = 16;
shared vec4 known[kQuads * kParts], found[kQuads * kParts];

float element(uint row, uint i) { return LOAD_INPUT(row + i / 4)[i % 4]; }

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint head = group / push.chunks % push.heads, n = group / (push.chunks * push.heads);
  if (n >= push.samples) return;  // for the whole workgroup
  const uint slot = gl_LocalInvocationID.x, part = gl_LocalInvocationID.y, me = gl_LocalInvocationIndex;
  const uint column = group % push.chunks * kQuads + slot, quad = min(column, push.value_quads - 1);
  const uint matrix = (n * push.heads + head) * push.key_size * push.value_quads + quad;
  const uint key = head / push.shared_heads * push.key_size;

  vec4 state[kRows];
  float keys[kRows];
  for (uint i = 0; i < kRows; ++i) {
    const uint row = part + i * kParts, at = matrix + row * push.value_quads;
    state[i] = row < push.key_size ? state_data[at] + state_data[push.left + at] : vec4(0);
    keys[i] = 0;
  }
  for (uint t = 0; t < push.tokens; ++t) {
    const uint token = n * push.tokens + t, key_row = token * push.key_quads, gate_row = token * push.gate_quads;
    const float decay = exp(element(push.gates + gate_row, head));
    vec4 sum = vec4(0);
    for (uint i = 0; i < kRows; ++i) {
      const uint row = part + i * kParts;
      if (row < push.key_size) keys[i] = element(push.keys + key_row, key + row);
      state[i] *= decay;
      sum += keys[i] * state[i];
    }
    known[me] = sum;
    barrier();
    const uint value = (token * push.heads + head) * push.value_quads + quad;
    vec4 missed = LOAD_INPUT(push.values + value);
    for (uint p = 0; p < kParts; ++p) missed -= known[p * kQuads + slot];
    missed *= element(push.betas + gate_row, head);
    sum = vec4(0);
    for (uint i = 0; i < kRows; ++i) {
      const uint row = part + i * kParts;
      state[i] += keys[i] * missed;
      if (row < push.key_size) sum += element(key_row, key + row) * state[i];
    }
    found[me] = sum;
    barrier();
    if (part > 0 || column > quad) continue;
    for (uint p = 1; p < kParts; ++p) sum += found[p * kQuads + slot];
    STORE_OUTPUT(value, sum);
  }
  if (column > quad) return;
  for (uint i = 0; i < kRows; ++i) {
    const uint row = part + i * kParts, at = matrix + row * push.value_quads;
    if (row >= push.key_size) continue;
    state_data[at] = state[i];
    state_data[push.left + at] = vec4(0);
  }
}
