#version 450
// Packs quantized weights unchanged, or their scales (always Float32): the elements of pack.comp's quads in order. Each
// invocation fills a quad's memory.
#ifdef FLOAT16
#define OUTPUT_TYPE uvec2
#else
#define OUTPUT_TYPE uvec4
#endif
#include "pack.glsl"

const uint kBits = kSourceBits == 16 ? 32 : kSourceBits;  // a BFloat16 is the upper 16 bits of a Float32

// Element `i` of the source in the low bits.
uint bits_of(uint i) {
  const uint in_word = 32 / kSourceBits;
  const uint word = input_data[i / in_word] << (32 - kSourceBits * (1 + i % in_word));
  return word >> (32 - kSourceBits) << (kBits - kSourceBits);
}

void main() {
  const uint i = linear_index();
  if (i >= push.quads) return;
  const uint in_word = 32 / kBits;
  OUTPUT_TYPE words = OUTPUT_TYPE(0);
  for (uint word = 0; word < words.length(); ++word)
    for (uint n = 0; n < in_word; ++n) {
      const uint e = (i * words.length() + word) * in_word + n, lane = e % 4;
      const uint at[4] = coordinates(e / 4);
      if (!inside(at) || !inside(at, lane)) continue;
      words[word] |= bits_of(first_element(at) + lane * push.stride_lane) << n * kBits;
    }
  output_data[push.output_offset + i] = words;
}
