#version 450
// Flips bits of one of 8 tiles in the second half of a buffer: the tile whose number is the count of workgroups.
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Output { uint words[]; };

void main() {
  if (gl_WorkGroupID.x + 1 != gl_NumWorkGroups.x) return;
  const uint tile = max(words.length() / 16, 1u);
  const uint begin = words.length() / 2 + gl_WorkGroupID.x * tile;
  for (uint i = gl_LocalInvocationID.x; i < tile; i += 64)
    if (begin + i < words.length()) words[begin + i] ^= 0x42004200u;
}
