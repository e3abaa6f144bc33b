#version 450
// Packs quantized weights unchanged, or their scales (always Float32): the elements of pack.comp's quads in order. Each
// invocation fills a quad's memory.
#ifdef FLOAT16
#define OUTPUT_TYPE uvec2
#else
#define OUTPUT_TYPE uvec4
#endif
#include "pack.glsl"

layout(constant_id = 4) const bool kFloat16 = false;  // scales of 16 bits are Float16, else BFloat16

const uint kBits = kSourceBits == 16 ? 32 : kSourceBits;  // a BFloat16 is the upper 16 bits of a Float32

// The bits of the Float32 with the value of a Float16. unpackHalf2x16() may flush denormals.
uint widened(uint bits) {
  const uint exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const uint magnitude = exponent == 0 ? floatBitsToUint(float(mantissa) / 16777216.0)
                                       : (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13;
  return (bits & 0x8000) << 16 | magnitude;
}

// Element `i` of the source in the low bits.
uint bits_of(uint i) {
  const uint in_word = 32 / kSourceBits;
  const uint word = input_data[i / in_word] << (32 - kSourceBits * (1 + i % in_word));
  const uint bits = word >> (32 - kSourceBits);
  return kFloat16 ? widened(bits) : bits << (kBits - kSourceBits);
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
