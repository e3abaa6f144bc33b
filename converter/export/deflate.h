// zlib streams (RFC 1950), for the bytes of a checkpoint that follow from no constant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "converter/export/element_reader.h"
#include "converter/pack/pack.h"

namespace ferry {

// `Noise`: small unpredictable values and runs of one value; run-length encoding compresses them better and faster.
enum class Content { Text, Noise };
std::vector<std::byte> deflated(std::span<const std::byte> bytes, Content content);
// Of `size` bytes, read in parts: a part is valid until the next one is read.
std::vector<std::byte> deflated(size_t size, const ElementReader::Read& read, Content content);

// Inflates a stream to `size` bytes, passed to `sink` in pieces. Throws Error that begins with `where` if the stream is
// invalid or of another size.
void inflate_to(std::span<const std::byte> stream, uint64_t size, const char* where, const Sink& sink);

}  // namespace ferry
