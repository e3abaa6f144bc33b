#include "converter/checkpoint/sha256.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace ferry {
namespace {

#if defined(__x86_64__)
bool has_instructions() {
  constexpr unsigned kSha = 1u << 29;  // leaf 7, ebx; implies SSE4.1
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx & kSha) != 0;
}

// Hashing dominates the conversion of large checkpoints; the SHA instructions make it several times faster. They keep
// the state as a, b, e, f and c, d, g, h, the first in the highest lane, and compute two rounds each.
[[gnu::target("sha,sse4.1")]] void blocks_by_instructions(Sha256State& state, const std::byte* data, size_t count) {
  const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i cdab = _mm_shuffle_epi32(load(state.data()), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count > 0; --count, data += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];  // the last 16 words; in registers if the loop is unrolled
#pragma GCC unroll 16
    for (size_t t = 0; t < 16; ++t) {
      __m128i& now = w[t % 4];
      if (t < 4) {
        now = _mm_shuffle_epi8(load(data + 16 * t), big_endian);
      } else {
        const __m128i before = w[(t + 3) % 4];
        now = _mm_sha256msg1_epu32(now, w[(t + 1) % 4]);
        now = _mm_add_epi32(now, _mm_alignr_epi8(before, w[(t + 2) % 4], 4));
        now = _mm_sha256msg2_epu32(now, before);
      }
      const __m128i words = _mm_add_epi32(now, load(kSha256Rounds.data() + 4 * t));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, words);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(words, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

}  // namespace

Sha256::Sha256(bool plainly) : blocks_(take_sha256_blocks) {
#if defined(__x86_64__)
  static const bool kInstructions = has_instructions();
  if (kInstructions && !plainly) blocks_ = blocks_by_instructions;
#else
  (void)plainly;
#endif
}

void Sha256::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const size_t held = length_ % 64;
  length_ += bytes.size();
  if (held > 0) {
    const size_t n = std::min(bytes.size(), 64 - held);
    std::memcpy(pending_.data() + held, bytes.data(), n);
    bytes = bytes.subspan(n);
    if (held + n < 64) return;
    blocks_(state_, pending_.data(), 1);
  }
  blocks_(state_, bytes.data(), bytes.size() / 64);
  const auto rest = bytes.subspan(bytes.size() / 64 * 64);
  if (!rest.empty()) std::memcpy(pending_.data(), rest.data(), rest.size());
}

std::string Sha256::hex() {
  const uint64_t bits = length_ * 8;
  std::array<std::byte, 72> tail{std::byte{0x80}};
  // Padding: a 1 bit, zeros up to 8 bytes before the end of a block, then the length.
  const size_t padding = (length_ % 64 < 56 ? 56 : 120) - length_ % 64;
  for (size_t i = 0; i < 8; ++i) tail[padding + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  update(std::span(tail).first(padding + 8));

  std::string text;
  for (uint32_t word : state_)
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

}  // namespace ferry
