#include "sdk/model/xxh64.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ferry {
namespace {

constexpr uint64_t kPrime1 = 0x9e3779b185ebca87, kPrime2 = 0xc2b2ae3d27d4eb4f, kPrime3 = 0x165667b19e3779f9,
                   kPrime4 = 0x85ebca77c2b2ae63, kPrime5 = 0x27d4eb2f165667c5;
static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

template <typename T>
uint64_t word(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

uint64_t round(uint64_t lane, uint64_t input) { return std::rotl(lane + input * kPrime2, 31) * kPrime1; }

uint64_t merge(uint64_t hash, uint64_t lane) { return (hash ^ round(0, lane)) * kPrime1 + kPrime4; }

void take(std::array<uint64_t, 4>* lanes, const std::byte* stripes, size_t count) {
  std::array<uint64_t, 4> a = *lanes;
  for (; count > 0; --count, stripes += 32)
    for (size_t i = 0; i < 4; ++i) a[i] = round(a[i], word<uint64_t>(stripes + 8 * i));
  *lanes = a;
}

}  // namespace

void Xxh64::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const size_t held = static_cast<size_t>(length_ % kStripe);
  length_ += bytes.size();
  if (held > 0) {
    const size_t more = std::min(kStripe - held, bytes.size());
    std::memcpy(&rest_[held], bytes.data(), more);
    if (held + more < kStripe) return;
    take(&lanes_, rest_.data(), 1);
    bytes = bytes.subspan(more);
  }
  const size_t stripes = bytes.size() / kStripe;
  take(&lanes_, bytes.data(), stripes);
  bytes = bytes.subspan(stripes * kStripe);
  if (!bytes.empty()) std::memcpy(rest_.data(), bytes.data(), bytes.size());
}

uint64_t Xxh64::digest() const {
  uint64_t hash = kPrime5;
  if (length_ >= kStripe) {
    hash = 0;
    constexpr int kTurns[] = {1, 7, 12, 18};
    for (size_t i = 0; i < 4; ++i) hash += std::rotl(lanes_[i], kTurns[i]);
    for (const uint64_t lane : lanes_) hash = merge(hash, lane);
  }
  hash += length_;
  const std::byte *at = rest_.data(), *const end = at + length_ % kStripe;
  for (; end - at >= 8; at += 8) hash = std::rotl(hash ^ round(0, word<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  if (end - at >= 4) {
    hash = std::rotl(hash ^ word<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at < end; ++at) hash = std::rotl(hash ^ static_cast<uint64_t>(*at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace ferry
