// zlib streams (RFC 1950): what little of a checkpoint follows from no constant is kept as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "converter/pack/pack.h"

namespace ferry {

// `Noise`: small numbers that nothing foretells, and runs of one of them; these come out shorter, and sooner.
enum class Content { Text, Noise };
std::vector<std::byte> deflated(std::span<const std::byte> bytes, Content content);

// Gives the `size` bytes of a stream, part by part. Throws Error, beginning with `where`, where it is none of so many.
void inflate_to(std::span<const std::byte> stream, uint64_t size, const char* where, const Sink& sink);

}  // namespace ferry
