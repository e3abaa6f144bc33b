// Softmax of a row by a workgroup. The including kernel defines the workgroup's reductions, float reduce_max(float) and
// float reduce_sum(float), which return the result to every invocation.

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;
} push;

float lanes_max(vec4 v, uint first) {
  float value = v.x;
  for (uint lane = 1; lane < 4; ++lane)
    if (first + lane < push.channels) value = max(value, v[lane]);
  return value;
}

// 0 for masked elements, also where the driver does not compute with infinities.
vec4 softmax_exponential(vec4 x) { return exp(max(x, vec4(-104))); }

void softmax() {
  // A row is processed by the whole workgroup, so that all invocations reach the barriers in the reductions.
  const uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (row >= push.rows) return;
  const uint begin = row * push.row_quads;
  float largest = uintBitsToFloat(0xff800000);
  for (uint quad = gl_LocalInvocationID.x; quad < push.row_quads; quad += gl_WorkGroupSize.x)
    largest = max(largest, lanes_max(LOAD_INPUT(begin + quad), quad * 4));
  largest = reduce_max(largest);
  float sum = 0;
  for (uint quad = gl_LocalInvocationID.x; quad < push.row_quads; quad += gl_WorkGroupSize.x) {
    const vec4 e = mask_lanes(softmax_exponential(LOAD_INPUT(begin + quad) - largest), quad * 4, push.channels);
    sum += e.x + e.y + e.z + e.w;
  }
  const float scale = 1 / reduce_sum(sum);
  for (uint quad = gl_LocalInvocationID.x; quad < push.row_quads; quad += gl_WorkGroupSize.x) {
    const vec4 e = softmax_exponential(LOAD_INPUT(begin + quad) - largest) * scale;
    STORE_OUTPUT(begin + quad, mask_lanes(e, quad * 4, push.channels));
  }
}
