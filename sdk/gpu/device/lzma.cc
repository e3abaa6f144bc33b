#include "sdk/gpu/device/lzma.h"

#include <algorithm>
#include <array>

namespace ferry::gpu {
namespace {

// The probability, of 2048, that the next bit is 0; it adapts.
struct Bit {
  uint16_t chance = 1024;
};

class RangeDecoder {
 public:
  explicit RangeDecoder(const uint8_t* packed) : next_(packed + 1) {
    for (int i = 0; i < 4; ++i) code_ = code_ << 8 | *next_++;
  }

  uint32_t bit(Bit& bit) {
    const uint32_t bound = (range_ >> 11) * bit.chance;
    const bool one = code_ >= bound;
    if (one) {
      code_ -= bound;
      range_ -= bound;
      bit.chance = static_cast<uint16_t>(bit.chance - (bit.chance >> 5));
    } else {
      range_ = bound;
      bit.chance = static_cast<uint16_t>(bit.chance + ((2048 - bit.chance) >> 5));
    }
    refill();
    return one;
  }
  // Bits with equal probabilities, most significant first.
  uint32_t even_bits(uint32_t count) {
    uint32_t value = 0;
    for (; count > 0; --count) {
      range_ >>= 1;
      const bool one = code_ >= range_;
      if (one) code_ -= range_;
      value = 2 * value + one;
      refill();
    }
    return value;
  }
  // Bits, most significant first, whose probabilities depend on the bits before.
  uint32_t tree(Bit* bits, uint32_t count) {
    uint32_t node = 1;
    for (uint32_t i = 0; i < count; ++i) node = 2 * node + bit(bits[node]);
    return node - (1u << count);
  }
  uint32_t tree_lowest_first(Bit* bits, uint32_t count) {
    uint32_t node = 1, value = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t b = bit(bits[node]);
      node = 2 * node + b;
      value |= b << i;
    }
    return value;
  }

 private:
  void refill() {
    if (range_ >= 1u << 24) return;
    range_ <<= 8;
    code_ = code_ << 8 | *next_++;
  }

  const uint8_t* next_;
  uint32_t range_ = UINT32_MAX, code_ = 0;
};

constexpr size_t kPlaces = 4;  // in a word

struct Length {
  Bit longer, longest, low[kPlaces][8], middle[kPlaces][8], high[256];

  uint32_t decode(RangeDecoder& in, size_t place) {
    if (in.bit(longer) == 0) return 2 + in.tree(low[place], 3);
    if (in.bit(longest) == 0) return 10 + in.tree(middle[place], 3);
    return 18 + in.tree(high, 8);
  }
};

struct Distance {
  Bit slots[4][64], low[128], align[16];

  uint32_t decode(RangeDecoder& in, uint32_t length) {
    const uint32_t slot = in.tree(slots[std::min(length - 2, 3u)], 6);
    if (slot < 4) return slot;
    const uint32_t bits = slot / 2 - 1, first = (2 | slot % 2) << bits;
    if (slot < 14) return first + in.tree_lowest_first(low + first - slot, bits);
    const uint32_t upper = in.even_bits(bits - 4) << 4;
    return first + upper + in.tree_lowest_first(align, 4);
  }
};

// States: the kinds of the last few symbols.
struct Symbols {
  Bit is_match[12][kPlaces], is_repeat[12], is_older[12], is_longer[12][kPlaces], is_third[12], is_fourth[12];
  Bit literals[kPlaces][768];
  Length match_length, repeat_length;
  Distance distance;
};

}  // namespace

void unpack_lzma(const uint8_t* packed, uint8_t* out, size_t bytes) {
  RangeDecoder in(packed);
  Symbols s;
  std::array<uint32_t, 4> distances{};  // of the last matches, minus 1
  uint32_t state = 0;
  for (size_t at = 0; at < bytes;) {
    const size_t place = at % kPlaces;
    if (in.bit(s.is_match[state][place]) == 0) {
      // A literal. After a match, the byte that would continue the match predicts it until they differ.
      uint32_t bank = state < 7 ? 0 : 0x100, hint = state < 7 ? 0 : out[at - distances[0] - 1], node = 1;
      while (node < 0x100) {
        hint <<= 1;
        const uint32_t guess = hint & bank, bit = in.bit(s.literals[place][bank + guess + node]);
        node = 2 * node + bit;
        bank &= bit != 0 ? guess : ~guess;
      }
      out[at++] = static_cast<uint8_t>(node);
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    uint32_t length = 1;
    if (in.bit(s.is_repeat[state]) == 0) {
      length = s.match_length.decode(in, place);
      std::rotate(distances.begin(), distances.end() - 1, distances.end());
      distances[0] = s.distance.decode(in, length);
      state = state < 7 ? 7 : 10;
    } else {
      uint32_t which = in.bit(s.is_older[state]);  // index of the distance
      if (which != 0 && in.bit(s.is_third[state]) != 0) which = 2 + in.bit(s.is_fourth[state]);
      if (which != 0 || in.bit(s.is_longer[state][place]) != 0) {
        length = s.repeat_length.decode(in, place);
        state = state < 7 ? 8 : 11;
      } else {
        state = state < 7 ? 9 : 11;
      }
      std::rotate(distances.begin(), distances.begin() + which, distances.begin() + which + 1);
    }
    for (; length > 0 && at < bytes; --length, ++at) out[at] = out[at - distances[0] - 1];
  }
}

}  // namespace ferry::gpu
