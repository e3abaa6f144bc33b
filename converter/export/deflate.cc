#include "converter/export/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

namespace ferry {
namespace {

constexpr size_t kAtOnce = 1 << 16;

// zlib's sizes have 32 bits: feeds at most 1 GiB of `input`.
void feed(std::span<const std::byte>* input, z_stream* stream) {
  const size_t next = std::min<size_t>(input->size(), size_t{1} << 30);
  stream->next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input->data()));
  stream->avail_in = static_cast<uInt>(next);
  *input = input->subspan(next);
}

struct Inflation {
  z_stream stream{};
  Inflation() {
    if (inflateInit(&stream) != Z_OK) throw std::bad_alloc();
  }
  ~Inflation() { inflateEnd(&stream); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;
};

}  // namespace

std::vector<std::byte> deflated(std::span<const std::byte> bytes, Content content) {
  return deflated(
      bytes.size(), [bytes](size_t at, size_t size) { return bytes.subspan(at, size); }, content);
}

std::vector<std::byte> deflated(size_t size, const ElementReader::Read& read, Content content) {
  z_stream stream{};
  // All parameters are fixed, so that equal bytes produce equal streams.
  constexpr int kLevel = 6, kWindowBits = 15, kMemory = 8;
  const int strategy = content == Content::Noise ? Z_RLE : Z_DEFAULT_STRATEGY;
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, kWindowBits, kMemory, strategy) != Z_OK) throw std::bad_alloc();
  std::vector<std::byte> out;
  std::array<std::byte, kAtOnce> part;
  int result = Z_OK;
  for (size_t at = 0; result == Z_OK;) {
    if (stream.avail_in == 0 && at < size) {
      std::span<const std::byte> next = read(at, std::min(size - at, ElementReader::kAtOnce));
      at += next.size();
      feed(&next, &stream);
    }
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = kAtOnce;
    result = deflate(&stream, at == size ? Z_FINISH : Z_NO_FLUSH);
    out.insert(out.end(), part.begin(), part.end() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

void inflate_to(std::span<const std::byte> stream, uint64_t size, const char* where, const Sink& sink) {
  Inflation inflation;
  z_stream& z = inflation.stream;
  std::array<std::byte, kAtOnce> part;
  uint64_t given = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    if (z.avail_in == 0) feed(&stream, &z);
    z.next_out = reinterpret_cast<Bytef*>(part.data());
    z.avail_out = kAtOnce;
    result = inflate(&z, Z_NO_FLUSH);
    const size_t got = kAtOnce - z.avail_out;
    given += got;
    if (given > size) break;
    sink(std::span(part).first(got));
  }
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  if (result != Z_STREAM_END || given != size || z.avail_in != 0 || !stream.empty())
    fail("%s: a deflated part is damaged", where);
}

}  // namespace ferry
