#version 450
// Attention without materialized scores: a workgroup processes some queries of a head over all keys, block by block,
// and rescales its sums when the maximum score grows. X invocations share four queries: per block, each computes their
// scores for two keys, then accumulates one quad of their outputs.
#include "common.glsl"

layout(constant_id = 3) const uint kQuads = 1;   // X
layout(constant_id = 4) const uint kGroups = 1;  // Y, of four queries each
layout(constant_id = 5) const uint kBiases = 0;  // 0 to 2
// In place: a token's heads are contiguous, keys in the operand and values in the weights. Otherwise both are in the
// operand, head after head.
layout(constant_id = 6) const bool kInPlace = false;
layout(constant_id = 7) const bool kSinks = false;  // in place only: one score per head, after the queries

layout(push_constant) uniform Push {
  uvec4 bias[2];  // first quad in the weights, samples, heads, rows; each 1, or repeated as needed
  uint samples, heads, queries, keys;
  uint shared_heads;   // query heads per key/value head
  uint key_quads;      // per row of one head, of queries and keys
  uint value_quads;    // per row of values
  uint behind;         // first quad of the values after the keys; in place, of the sinks
  uint tiles, chunks;  // workgroups along a head's queries and along a row's quads
  float scale;
  uint first_seen;  // keys that query 0 attends to; each further query attends to `seen_step` more
  uint seen_step;   // 1: causal, 0
  uint window;      // maximum keys per query, the last ones
  float softcap;    // 0: none
} push;

const uint kKeys = 2 * kQuads;  // per block
const float kLowest = -3.402823466e38;
shared vec4 scores[kGroups * kKeys], exponentials[kGroups * kKeys];

// tanh, by its series where exponentials would cancel.
vec4 tangent(vec4 x) {
  const vec4 y = x * x;
  const vec4 series = x * (1 + y * (-1 / 3.0 + y * (2 / 15.0 + y * (-17 / 315.0 + y * (62 / 2835.0)))));
  return mix(tanh(clamp(x, -10, 10)), series, lessThan(y, vec4(0.0625)));
}

void main() {
  const uint number = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint chunk = number % push.chunks, tile = number / push.chunks % push.tiles;
  const uint head = number / (push.chunks * push.tiles) % push.heads;
  const uint n = number / (push.chunks * push.tiles * push.heads);
  if (n >= push.samples) return;  // for the whole workgroup
  const uint slot = gl_LocalInvocationID.x, mine = gl_LocalInvocationID.y * kKeys;
  const uint quad = chunk * kQuads + slot;
  const uint first_query = (tile * kGroups + gl_LocalInvocationID.y) * 4;
  const uvec4 query = min(uvec4(first_query) + uvec4(0, 1, 2, 3), uvec4(push.queries - 1));
  const uvec4 query_at = ((n * push.queries + query) * push.heads + head) * push.key_quads;
  const uint kv_heads = push.heads / push.shared_heads, kv_head = head / push.shared_heads;
  const uint step = kInPlace ? kv_heads : 1;  // rows from one key to the next
  const uint first_key = kInPlace ? n * push.keys * kv_heads + kv_head : (n * kv_heads + kv_head) * push.keys;

  // Each query attends to keys [begin, end), the workgroup's queries together to [first, last).
  const uvec4 end = push.first_seen + query * push.seen_step, begin = end - min(end, uvec4(push.window));
  const uint least = push.first_seen + tile * kGroups * 4 * push.seen_step;
  const uint first = (least - min(least, push.window)) / kKeys * kKeys;
  const uint last = push.first_seen + min(tile * kGroups * 4 + kGroups * 4 - 1, push.queries - 1) * push.seen_step;

  vec4 largest = vec4(kLowest), total = vec4(0);
  if (kSinks) {
    largest = vec4(LOAD_INPUT(push.behind + head / 4)[head % 4]);
    total = vec4(1);
  }
  mat4 sums = mat4(0);  // one column per query
  for (uint block = first; block < last; block += kKeys) {
    // Keys after the last repeat it and are not accumulated.
    const uvec2 key = uvec2(block + slot) + uvec2(0, kQuads);
    const uvec2 key_at = (first_key + min(key, uvec2(push.keys - 1)) * step) * push.key_quads;
    vec4 score[2] = {vec4(0), vec4(0)};
    for (uint i = 0; i < push.key_quads; ++i) {
      const mat4 q = mat4(LOAD_INPUT(query_at.x + i), LOAD_INPUT(query_at.y + i), LOAD_INPUT(query_at.z + i),
                          LOAD_INPUT(query_at.w + i));
      score[0] += LOAD_OPERAND(key_at.x + i) * q;
      score[1] += LOAD_OPERAND(key_at.y + i) * q;
    }
    for (uint k = 0; k < 2; ++k) {
      score[k] *= push.scale;
      if (push.softcap > 0) score[k] = push.softcap * tangent(score[k] / push.softcap);
      const uint at = min(key[k], push.keys - 1);
      for (uint b = 0; b < kBiases; ++b) {
        const uvec4 bias = push.bias[b];
        const uint first_row = (n % bias.y * bias.z + head % bias.z) * bias.w;
        for (uint r = 0; r < 4; ++r)
          score[k][r] += LOAD_WEIGHT(bias.x + (first_row + query[r] % bias.w) * ((push.keys + 3) / 4) + at / 4)[at % 4];
      }
      score[k] = max(score[k], vec4(kLowest));  // masks may be -infinity
      score[k] = mix(score[k], vec4(kLowest), bvec4(uvec4(lessThan(uvec4(key[k]), begin)) |
                                                    uvec4(greaterThanEqual(uvec4(key[k]), end))));
      scores[mine + slot + k * kQuads] = score[k];
    }
    barrier();
    const vec4 former = largest;
    for (uint i = 0; i < kKeys; ++i) largest = max(largest, scores[mine + i]);
    for (uint k = 0; k < 2; ++k) exponentials[mine + slot + k * kQuads] = exp(score[k] - largest);
    const vec4 correction = exp(former - largest);
    total *= correction;
    for (uint r = 0; r < 4; ++r) sums[r] *= correction[r];
    barrier();
    const uint value_at = (kInPlace ? 0 : push.behind) + (first_key + block * step) * push.value_quads +
                          min(quad, push.value_quads - 1);
    for (uint i = 0; i < min(kKeys, last - block); ++i) {
      const vec4 e = exponentials[mine + i];
      total += e;
      const uint at = value_at + i * step * push.value_quads;
      sums += outerProduct(kInPlace ? LOAD_WEIGHT(at) : LOAD_OPERAND(at), e);
    }
  }
  if (quad >= push.value_quads) return;
  for (uint r = 0; r < 4; ++r)
    if (first_query + r < push.queries)
      STORE_OUTPUT(((n * push.queries + first_query + r) * push.heads + head) * push.value_quads + quad,
                   sums[r] / total[r]);
}
