// Weights of matrix products: quads, or the blob's quantized integers with scales, which are dequantized here.

// Bits per weight: 32: quads; 8: integers with a scale per output; 4: with a scale per 32 inputs of an output.
layout(constant_id = 9) const uint kWeightBits = 32;
// 8 bits: stacks of matrices have a scale per 32 inputs, too.
layout(constant_id = 13) const bool kBytesInBlocks = false;
const bool kInBlocks = kWeightBits == 4 || kBytesInBlocks;

// Aliases the same memory as words.
#ifdef FLOAT16
#define weight_words weight_data
#else
layout(std430, binding = 2) readonly buffer WeightWords { uvec2 weight_words[]; };
#endif

const uint kScaleQuads = 32 / 4;  // input quads per block

// The offset of an output quad's scales in weight_words.
#define FIRST_SCALE(quad) (push.scales + 2 * (quad) * (kInBlocks ? push.input_quads / kScaleQuads : 1))

// The scales of input quad `i`.
vec4 load_scale(uint first, uint i) {
  const uint at = first + (kInBlocks ? i / kScaleQuads * 2 : 0);
  return vec4(uintBitsToFloat(weight_words[at]), uintBitsToFloat(weight_words[at + 1]));
}

// Unpacks four integers from a word, and from the lower 16 bits of a word.
vec4 bytes(uint word) { return vec4(ivec4(uvec4(word) << uvec4(24, 16, 8, 0)) >> 24); }
vec4 nibbles(uint word) { return vec4(ivec4(uvec4(word) << uvec4(28, 24, 20, 16)) >> 28); }

// Like LOAD_WEIGHTS4(at), for input quad `i` of an output quad whose scales begin at `scales`.
Weights4 load_weights4(uint at, uint scales, uint i) {
  if (kWeightBits == 32) return LOAD_WEIGHTS4(at);
  const vec4 scale = load_scale(scales, i);
  if (kWeightBits == 4) {
    const uvec2 words = weight_words[at / 4];
    return Weights4(TERM(scale * nibbles(words.x)), TERM(scale * nibbles(words.x >> 16)),
                    TERM(scale * nibbles(words.y)), TERM(scale * nibbles(words.y >> 16)));
  }
  const uvec2 first = weight_words[at / 2], second = weight_words[at / 2 + 1];
  return Weights4(TERM(scale * bytes(first.x)), TERM(scale * bytes(first.y)), TERM(scale * bytes(second.x)),
                  TERM(scale * bytes(second.y)));
}

// Like LOAD_WEIGHT_TERM(at), for the same.
TERM load_weight(uint at, uint scales, uint i) {
  if (kWeightBits == 32) return LOAD_WEIGHT_TERM(at);
  const vec4 scale = load_scale(scales, i);
  if (kWeightBits == 4) return TERM(scale * nibbles(weight_words[at / 4][at / 2 % 2] >> (at % 2 * 16)));
  return TERM(scale * bytes(weight_words[at / 2][at % 2]));
}
