#include "converter/gguf/blocks.h"

#include <array>
#include <cmath>
#include <cstring>
#include <string>

#include "converter/checkpoint/small_float.h"
#include "sdk/model/elements.h"

namespace ferry::gguf {
namespace {

constexpr int kGroup = 32, kSuper = 256;

int byte_at(const std::byte* block, int at) { return std::to_integer<int>(block[at]); }
int signed_at(const std::byte* block, int at) { return static_cast<int8_t>(byte_at(block, at)); }
uint16_t half_at(const std::byte* block, int at) {
  return static_cast<uint16_t>(byte_at(block, at) | byte_at(block, at + 1) << 8);
}
float scale_at(const std::byte* block, int at) { return from_float16(half_at(block, at)); }

void f32(const std::byte* block, float* out) { std::memcpy(out, block, sizeof(float)); }
void f16(const std::byte* block, float* out) { *out = scale_at(block, 0); }
void bf16(const std::byte* block, float* out) { *out = from_bfloat16(half_at(block, 0)); }

// Blocks of 32: lower nibbles are numbers 0 to 15, upper ones 16 to 31.
int nibble(const std::byte* bytes, int i) { return byte_at(bytes, i % 16) >> (i < 16 ? 0 : 4) & 15; }
// The fifth bit of number i, from 32 bits.
int fifth_bit(const std::byte* bits, int i) { return (byte_at(bits, i / 8) >> i % 8 & 1) << 4; }

void q4_0(const std::byte* block, float* out) {
  const float d = scale_at(block, 0);
  for (int i = 0; i < kGroup; ++i) out[i] = d * static_cast<float>(nibble(block + 2, i) - 8);
}

void q4_1(const std::byte* block, float* out) {
  const float d = scale_at(block, 0), m = scale_at(block, 2);
  for (int i = 0; i < kGroup; ++i) {
    const float product = d * static_cast<float>(nibble(block + 4, i));
    out[i] = product + m;
  }
}

void q5_0(const std::byte* block, float* out) {
  const float d = scale_at(block, 0);
  for (int i = 0; i < kGroup; ++i)
    out[i] = d * static_cast<float>((nibble(block + 6, i) | fifth_bit(block + 2, i)) - 16);
}

void q5_1(const std::byte* block, float* out) {
  const float d = scale_at(block, 0), m = scale_at(block, 2);
  for (int i = 0; i < kGroup; ++i) {
    const float product = d * static_cast<float>(nibble(block + 8, i) | fifth_bit(block + 4, i));
    out[i] = product + m;
  }
}

void q8_0(const std::byte* block, float* out) {
  const float d = scale_at(block, 0);
  for (int i = 0; i < kGroup; ++i) out[i] = d * static_cast<float>(signed_at(block, 2 + i));
}

// IQ4_NL's table of values.
constexpr std::array kNonLinear = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void iq4_nl(const std::byte* block, float* out) {
  const float d = scale_at(block, 0);
  for (int i = 0; i < kGroup; ++i)
    out[i] = d * static_cast<float>(kNonLinear[static_cast<size_t>(nibble(block + 2, i))]);
}

// The scale first: E8M0. Elements are E2M1.
void mxfp4(const std::byte* block, float* out) {
  static constexpr float kMagnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const int exponent = byte_at(block, 0) - 127;
  for (int i = 0; i < kGroup; ++i) {
    const int bits = nibble(block + 1, i);
    const float magnitude = std::ldexp(kMagnitudes[bits & 7], exponent);
    out[i] = bits & 8 ? -magnitude : magnitude;
  }
}

// Blocks of 256 with two levels of scales. Each number is d * scale * q - dmin * minimum, over groups.

// Bytes: 16 of scale (lower nibble) and minimum (upper nibble) of groups of 16; 64 of 2 bits; d; dmin.
void q2_k(const std::byte* block, float* out) {
  const float d = scale_at(block, 80), dmin = scale_at(block, 82);
  for (int i = 0; i < kSuper; ++i) {
    const int q = byte_at(block, 16 + i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 3;
    const int both = byte_at(block, i / 16);
    const float scale = d * static_cast<float>(both & 15), minimum = dmin * static_cast<float>(both >> 4);
    const float product = scale * static_cast<float>(q);
    out[i] = product - minimum;
  }
}

// Scale of a group of 16 of Q3_K: lower 4 bits in 8 bytes, upper 2 bits in the 4 that follow; 32 is subtracted.
int scale_of_q3(const std::byte* scales, int group) {
  const int low = byte_at(scales, group % 8) >> (group < 8 ? 0 : 4) & 15;
  const int high = byte_at(scales, 8 + group % 4) >> (group / 4 * 2) & 3;
  return (low | high << 4) - 32;
}

// Bytes: 32 of the third bits, where a bit of 0 subtracts 4; 64 of 2 bits; 12 of scales; d.
void q3_k(const std::byte* block, float* out) {
  const float d = scale_at(block, 108);
  for (int i = 0; i < kSuper; ++i) {
    const int low = byte_at(block, 32 + i / 128 * 32 + i % 32) >> (i % 128 / 32 * 2) & 3;
    const int high = byte_at(block, i % 32) >> (i / 32) & 1;
    const float scale = d * static_cast<float>(scale_of_q3(block + 96, i / 16));
    out[i] = scale * static_cast<float>(low - (high ? 0 : 4));
  }
}

struct ScaleAndMinimum {
  int scale, minimum;
};

// 6-bit scales and minima of 8 groups of 32 in 12 bytes: those of groups 0 to 3 in the lower 6 bits of bytes 0 to 3 and
// 4 to 7; of 4 to 7 in the nibbles of bytes 8 to 11, with their upper 2 bits in those of bytes 0 to 3 and 4 to 7.
ScaleAndMinimum scale_of_k(const std::byte* packed, int group) {
  if (group < 4) return {byte_at(packed, group) & 63, byte_at(packed, group + 4) & 63};
  const int both = byte_at(packed, group + 4);
  return {(both & 15) | byte_at(packed, group - 4) >> 6 << 4, both >> 4 | byte_at(packed, group) >> 6 << 4};
}

float number_of_k(float d, float dmin, const ScaleAndMinimum& s, int q) {
  const float scale = d * static_cast<float>(s.scale), minimum = dmin * static_cast<float>(s.minimum);
  const float product = scale * static_cast<float>(q);
  return product - minimum;
}

// Nibbles of 64 numbers in 32 bytes: the first 32 lower, the others upper.
int nibble_of_k(const std::byte* bytes, int i) {
  return byte_at(bytes, i / 64 * 32 + i % 32) >> (i % 64 < 32 ? 0 : 4) & 15;
}

// Bytes: d; dmin; 12 of scales; 128 of nibbles.
void q4_k(const std::byte* block, float* out) {
  const float d = scale_at(block, 0), dmin = scale_at(block, 2);
  for (int i = 0; i < kSuper; ++i)
    out[i] = number_of_k(d, dmin, scale_of_k(block + 4, i / 32), nibble_of_k(block + 16, i));
}

// Bytes: d; dmin; 12 of scales; 32 of fifth bits; 128 of nibbles.
void q5_k(const std::byte* block, float* out) {
  const float d = scale_at(block, 0), dmin = scale_at(block, 2);
  for (int i = 0; i < kSuper; ++i) {
    const int high = (byte_at(block, 16 + i % 32) >> (i / 32) & 1) << 4;
    out[i] = number_of_k(d, dmin, scale_of_k(block + 4, i / 32), nibble_of_k(block + 48, i) | high);
  }
}

// Bytes: 128 of lower 4 bits; 64 of upper 2 bits; 16 of signed scales of groups of 16; d.
void q6_k(const std::byte* block, float* out) {
  const float d = scale_at(block, 208);
  for (int i = 0; i < kSuper; ++i) {
    const int half = i / 128, in = i % 128;
    const int low = byte_at(block, half * 64 + in % 64) >> (in < 64 ? 0 : 4) & 15;
    const int high = byte_at(block, 128 + half * 32 + in % 32) >> (in / 32 * 2) & 3;
    const float scale = d * static_cast<float>(signed_at(block, 192 + i / 16));
    out[i] = scale * static_cast<float>((low | high << 4) - 32);
  }
}

constexpr BlockType kTypes[] = {
    {0, "F32", 1, 4, f32},          {1, "F16", 1, 2, f16},        {2, "Q4_0", 32, 18, q4_0},
    {3, "Q4_1", 32, 20, q4_1},      {6, "Q5_0", 32, 22, q5_0},    {7, "Q5_1", 32, 24, q5_1},
    {8, "Q8_0", 32, 34, q8_0},      {10, "Q2_K", 256, 84, q2_k},  {11, "Q3_K", 256, 110, q3_k},
    {12, "Q4_K", 256, 144, q4_k},   {13, "Q5_K", 256, 176, q5_k}, {14, "Q6_K", 256, 210, q6_k},
    {20, "IQ4_NL", 32, 18, iq4_nl}, {30, "BF16", 1, 2, bf16},     {39, "MXFP4", 32, 17, mxfp4},
};

constexpr std::pair<uint32_t, std::string_view> kUnread[] = {
    {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
    {21, "IQ3_S"}, {22, "IQ2_S"}, {23, "IQ4_XS"},  {24, "I8"},     {25, "I16"},     {26, "I32"},
    {27, "I64"},   {28, "F64"},   {29, "IQ1_M"},   {34, "TQ1_0"},  {35, "TQ2_0"},
};

}  // namespace

const BlockType* block_type(uint32_t id) {
  for (const BlockType& type : kTypes)
    if (type.id == id) return &type;
  return nullptr;
}

std::string_view unread_type(uint32_t id) {
  for (const auto& [known, name] : kUnread)
    if (known == id) return name;
  return {};
}

const char* known_types() {
  static const std::string kNames = [] {
    std::string names;
    for (const BlockType& type : kTypes) names += (names.empty() ? "" : ", ") + std::string(type.name);
    return names;
  }();
  return kNames.c_str();
}

}  // namespace ferry::gguf
