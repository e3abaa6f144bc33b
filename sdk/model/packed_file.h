// A file of packed weights (docs/format.md, "Packed weights"): mapped, verified, looked into.
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

// What a packed file was made of and for. It is used where this is the same.
struct PackedTarget {
  std::string content;       // Graph.content of the blob: SHA-256 of its weights, 64 lower-case hexadecimal digits
  uint64_t buffers = 0;      // hash of where each weight lies
  uint64_t fingerprint = 0;  // of the library and the kernels that it chooses here
  std::string description;   // of the fingerprint, for people: "x86-64 avx512f"

  // FERRY_UNSUPPORTED where the blob does not say what its weights are (written before it did).
  static Status of(const Model& model, uint64_t fingerprint, std::string_view description, PackedTarget* out);
  // Of the file in a cache folder, unlike that of any other blob or CPU.
  std::string file_name() const;
};

// The first 192 bytes, little endian.
struct PackedHeader {
  static constexpr char kMagic[8] = {'F', 'E', 'R', 'R', 'Y', 'P', '\n', '\x1a'};
  static constexpr uint32_t kVersion = 1;

  char magic[8];
  uint32_t version;
  uint32_t header_bytes;  // 192
  uint64_t fingerprint;
  uint64_t buffers;
  char content[64];
  uint64_t entries;      // in the table that follows
  uint64_t file_bytes;   // of the whole file
  char description[64];  // ends with a zero
  uint64_t checksum;     // FNV-1a of the header, this field zero, and the table
  uint8_t reserved[8];   // zero
};
static_assert(sizeof(PackedHeader) == 192);

// One of the table, which is in ascending order of what stands before `offset`.
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
  // Verifies header and table, and touches nothing else. `bytes` begin at a multiple of kAlignment and outlive the
  // PackedFile. FERRY_UNSUPPORTED: sound, but of another version or not for `target`; FERRY_CORRUPT otherwise.
  static Status open(std::span<const std::byte> bytes, const PackedTarget& target, PackedFile* out);

  // The bytes of an entry of exactly that size; null where there is none.
  const std::byte* find(const PackedKey& key, size_t size) const;

  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<const PackedEntry> entries() const { return entries_; }
  const std::byte* bytes(const PackedEntry& entry) const { return bytes_.data() + entry.offset; }

 private:
  std::span<const std::byte> bytes_;
  std::span<const PackedEntry> entries_;
};

// The whole file of a store's entries, in pieces: header and table, which say where the pieces of the entries go.
struct PackedImage {
  struct Piece {
    uint64_t offset;
    std::span<const std::byte> bytes;
  };
  std::string head;  // header and table
  std::vector<Piece> pieces;
  uint64_t bytes = 0;  // of the file
};
PackedImage make_packed_image(const PackedStore& store, const PackedTarget& target);

}  // namespace ferry
