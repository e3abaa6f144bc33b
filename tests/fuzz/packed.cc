// Files of packed weights.
#include "sdk/model/packed_file.h"

#include <cstring>

#include "sdk/model/model.h"
#include "sdk/model/seeded.h"
#include "sdk/model/xxh64.h"
#include "tests/fuzz/harness.h"

FERRY_FUZZ(packed) {
  const Aligned file(bytes);
  PackedTarget target;
  if (bytes.size() >= sizeof(PackedHeader)) {  // it always claims to be packed for this machine
    PackedHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    target = {.content = {header.content, sizeof header.content},
              .buffers = header.buffers,
              .fingerprint = header.fingerprint,
              .description = "x86-64"};
  }
  PackedFile packed;
  if (!PackedFile::open(file, target, &packed).ok()) return;
  for (const PackedEntry& entry : packed.entries()) {
    require(packed.find(entry.key(), static_cast<size_t>(entry.size)) == packed.bytes(entry), "an entry is not found");
    touch(std::span(packed.bytes(entry), static_cast<size_t>(entry.size) + kExtraBytes));
  }
  if (!packed.check_contents().ok()) return;  // as a cache does
  PackedStore store;
  store.attach(packed, nullptr);
  touch(make_packed_image(store, target).head);
}

#if defined(FERRY_LIBFUZZER)
namespace {

// Of the entries that lie within the file.
uint64_t contents_of(std::span<const uint8_t> file, size_t entries) {
  ferry::Xxh64 hash;
  for (size_t i = 0; i < entries; ++i) {
    ferry::PackedEntry entry;
    std::memcpy(&entry, file.data() + sizeof(ferry::PackedHeader) + i * sizeof entry, sizeof entry);
    if (entry.offset > file.size() || entry.size > file.size() - entry.offset) continue;
    hash.update(std::as_bytes(file.subspan(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.size))));
  }
  return hash.digest();
}

}  // namespace

// Corrects sizes and checksums, so that mutations get past these checks.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maximum, unsigned seed) {
  using namespace ferry;
  size = LLVMFuzzerMutate(data, size, maximum);
  PackedHeader header;
  if (size < sizeof header || seed % 8 == 0) return size;
  std::memcpy(&header, data, sizeof header);
  header.file_bytes = size;
  header.header_bytes = sizeof header;
  const uint64_t table = std::min<uint64_t>(header.entries, (size - sizeof header) / sizeof(PackedEntry));
  header.entries = table;
  if (header.version == 1) header.contents = 0;
  if (header.version == PackedHeader::kVersion) header.contents = contents_of({data, size}, static_cast<size_t>(table));
  header.checksum = 0;
  const auto text = [](const void* from, size_t count) {
    return std::string_view(static_cast<const char*>(from), count);
  };
  header.checksum = fnv1a64(text(data + sizeof header, static_cast<size_t>(table) * sizeof(PackedEntry)),
                            fnv1a64(text(&header, sizeof header)));
  std::memcpy(data, &header, sizeof header);
  return size;
}
#endif
