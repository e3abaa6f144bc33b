// A file of packed weights (docs/format.md, "Packed weights"): verification and lookup in mapped bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sdk/model/packed_store.h"
#include "sdk/status.h"

namespace ferry {

class Model;

// The weights and the machine that a packed file is for. A file is used only if both match.
struct PackedTarget {
  std::string content;       // Graph.content of the blob: SHA-256 of its weights, 64 lower-case hexadecimal digits
  uint64_t buffers = 0;      // hash of the weights' offsets
  uint64_t fingerprint = 0;  // hash of the library and the kernels that it selects here
  std::string description;   // the fingerprint in words: "x86-64 avx512f"

  // FERRY_UNSUPPORTED: the blob stores no hash of its weights (older converters).
  static Status of(const Model& model, uint64_t fingerprint, std::string_view description, PackedTarget* out);
  // The file's name in a cache folder, unique per blob and CPU.
  std::string file_name() const;
};

// The first 192 bytes, little-endian.
struct PackedHeader {
  static constexpr char kMagic[8] = {'F', 'E', 'R', 'R', 'Y', 'P', '\n', '\x1a'};
  static constexpr uint32_t kVersion = 2;

  char magic[8];
  uint32_t version;
  uint32_t header_bytes;  // 192
  uint64_t fingerprint;
  uint64_t buffers;
  char content[64];
  uint64_t entries;      // number of entries in the table that follows
  uint64_t file_bytes;   // of the whole file
  char description[64];  // NUL-terminated
  uint64_t checksum;     // FNV-1a of the header with this field zero, and of the table
  uint64_t contents;     // XXH64 of the entries' bytes, in the table's order; version 1: zero
};
static_assert(sizeof(PackedHeader) == 192);

// An entry of the table, which is sorted by the fields before `offset`.
struct PackedEntry {
  uint32_t weight, bias;
  uint64_t packing;
  uint32_t part;
  uint32_t reserved;  // zero
  uint64_t size;
  uint64_t offset;  // from the file's start, a multiple of 64

  PackedKey key() const { return {weight, bias, packing, part}; }
};
static_assert(sizeof(PackedEntry) == 40);

class PackedFile {
 public:
  // Verifies header and table, and reads nothing else. `bytes` are aligned to kAlignment and must outlive the
  // PackedFile. FERRY_UNSUPPORTED: valid, but of another version or not for `target`; FERRY_CORRUPT otherwise.
  static Status open(std::span<const std::byte> bytes, const PackedTarget& target, PackedFile* out);

  // Reads the entries' bytes and compares their checksum. FERRY_CORRUPT: they are damaged. FERRY_UNSUPPORTED: the file
  // has no checksum.
  Status check_contents() const;
  uint64_t contents_checksum() const { return contents_; }

  // The bytes of an entry of exactly that size; null if there is none.
  const std::byte* find(const PackedKey& key, size_t size) const;

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<const PackedEntry> entries() const { return entries_; }
  const std::byte* bytes(const PackedEntry& entry) const { return bytes_.data() + entry.offset; }

 private:
  std::span<const std::byte> bytes_;
  std::span<const PackedEntry> entries_;
  uint32_t version_ = 0;
  uint64_t contents_ = 0;
};

// A complete file of a store's entries, in pieces: header and table, with the positions of the entries' bytes.
struct PackedImage {
  struct Piece {
    uint64_t offset;
    std::span<const std::byte> bytes;
  };
  std::string head;  // header and table
  std::vector<Piece> pieces;
  uint64_t bytes = 0;  // size of the file
};
PackedImage make_packed_image(const PackedStore& store, const PackedTarget& target);

}  // namespace ferry
