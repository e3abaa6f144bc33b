// Sines and cosines. Vulkan's are only precise to 2^-11, and only within [-pi, pi].

// kSin and kCos are steps of elementwise.comp alone: in the epilogue, every kernel would contain them.

// The bits of 1 / pi, after 32 zeros.
const uint kInversePi[] = uint[](0, 0x517cc1b7, 0x27220a94, 0xfe13abe8, 0xfa9a6ee0, 0x6db14acc, 0x9e21c820);

// Reduces x to [-pi / 2, pi / 2] with the same sine, or with the cosine as its sine if `cosine`. As exact for large x
// as for small ones (Payne and Hanek, 1983): x is m * 2^e, and only the bits of 1 / pi matter that do not make
// multiples of 2 of x / pi. The integer product leaves no floating-point sum that a driver could reorder.
float reduced_angle(float x, bool cosine) {
  if (abs(x) < 1) return cosine ? 1.5707963268 - abs(x) : x;
  const uint bits = floatBitsToUint(x), mantissa = bits & 0x7fffff | 0x800000;
  const uint place = (bits >> 23 & 255) - 119, word = place / 32, shift = place % 32;
  const uint next = kInversePi[word + 1];
  const uint high = kInversePi[word] << shift | next >> 1 >> (31 - shift);
  const uint low = next << shift | kInversePi[word + 2] >> 1 >> (31 - shift);
  uint angle, rest;  // in units of pi / 2^31
  umulExtended(mantissa, low, angle, rest);
  angle += mantissa * high;
  if (x < 0) angle = -angle;
  if (cosine) angle += 0x40000000;
  if (angle + 0x40000000 >= 0x80000000) angle = 0x80000000 - angle;  // pi minus an angle has the same sine
  return float(int(angle)) * 1.4629180793e-9;
}

// Minimax polynomial with an error of at most 5e-9.
vec4 sine(vec4 x, bool cosine) {
  const vec4 r = vec4(reduced_angle(x.x, cosine), reduced_angle(x.y, cosine), reduced_angle(x.z, cosine),
                      reduced_angle(x.w, cosine));
  const vec4 s = r * r;
  return r + r * s * (-0.166666567 + s * (0.00833301619 + s * (-0.000198065478 + s * 2.59990315e-6)));
}
