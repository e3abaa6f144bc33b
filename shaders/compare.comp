#version 450
// Counts the words in which two results differ. One count for each workgroup, of the `share` consecutive words that it
// compares. Words are compared as integers, so not-a-numbers and denormals count as what they are.
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

layout(std430, binding = 0) writeonly buffer Output { uint counts[]; };
layout(std430, binding = 1) readonly buffer Input { uint words[]; };
layout(std430, binding = 3) readonly buffer Operand { uint expected[]; };

layout(push_constant) uniform Push {
  uint total, share, first_count;
} push;

const uint kInvocations = 64;
shared uint sums[kInvocations];

void main() {
  const uint me = gl_LocalInvocationID.x;
  const uint begin = gl_WorkGroupID.x * push.share, end = min(begin + push.share, push.total);
  uint different = 0;
  for (uint i = begin + me; i < end; i += kInvocations) different += words[i] != expected[i] ? 1 : 0;
  sums[me] = different;
  barrier();
  if (me != 0) return;
  for (uint i = 1; i < kInvocations; ++i) different += sums[i];
  counts[push.first_count + gl_WorkGroupID.x] = different;
}
