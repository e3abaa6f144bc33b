// Weights in the layouts that kernels read, packed once for all sessions of a model.
//
// The store does not know kernels: an entry is bytes with a key. Entries are on the heap, where a session packed them,
// or in packed files (packed_file.h).
//
// Thread-safe.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "sdk/status.h"

namespace ferry {

class PackedFile;

// The constants and the layout of an entry. Constants are buffers of the blob, not operators: operators that pack the
// same constants in the same way share the entry.
struct PackedKey {
  uint32_t weight = 0, bias = 0;  // buffers of the blob; 0: none
  uint64_t packing = 0;           // identifies the layout and all other inputs of the bytes
  uint32_t part = 0;              // index, if packing produces several entries
  auto operator<=>(const PackedKey&) const = default;
};

// Identifies a layout and everything besides the constants on which packed bytes depend: types, shapes, tiles, and
// transformations. A change to the bytes of a layout needs a new version.
class PackingId {
 public:
  PackingId(std::string_view layout, uint32_t version);
  PackingId& add(uint64_t number);
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_;
};

// An entry's bytes, at a fixed address while referenced; aligned to kAlignment, followed by kExtraBytes that may be
// read.
using PackedBytes = std::shared_ptr<const std::byte>;

class PackedStore {
 public:
  struct Entry {
    PackedKey key;
    size_t size = 0;
    PackedBytes bytes;
  };

  PackedStore();
  ~PackedStore();
  PackedStore(const PackedStore&) = delete;
  PackedStore& operator=(const PackedStore&) = delete;

  // Bytes of packed weights, on the heap and in files.
  uint64_t bytes() const;
  // Bytes on the heap.
  uint64_t heap_bytes() const;

  // The entry of `size` bytes with that key. If there is none, pack(std::byte*) fills its memory and returns a Status;
  // one thread packs at a time, others wait. An entry of another size does not match: a key is a hash, and a hostile
  // blob may construct a collision.
  template <typename Pack>
  Status get(const PackedKey& key, size_t size, Pack pack, PackedBytes* out) {
    const auto call = [](void* context, std::byte* to) { return (*static_cast<Pack*>(context))(to); };
    return get(key, size, call, &pack, out);
  }

  struct Found {
    PackedBytes bytes;                // null: no such entry
    std::span<const std::byte> file;  // the file that contains it; empty: on the heap
  };
  Found find(const PackedKey& key, size_t size) const;

  // Adds a file to the lookup. `owner` keeps its bytes alive; null: they outlive all entries.
  void attach(const PackedFile& file, std::shared_ptr<const void> owner);
  bool has_files() const;
  // All entries, sorted by key and size, without duplicates.
  std::vector<Entry> entries() const;
  // Drops heap entries that are also in a file. Holders of such an entry keep it.
  void drop_copies();
  // Drops heap entries that nobody holds.
  void drop_unused();

 private:
  using Call = Status (*)(void* context, std::byte* to);
  struct EntryKey {
    PackedKey key;
    size_t size = 0;
    auto operator<=>(const EntryKey&) const = default;
  };
  struct File;

  Status get(const PackedKey& key, size_t size, Call pack, void* context, PackedBytes* out);
  Found find_in_files(const PackedKey& key, size_t size) const;
  Found find_anywhere(const PackedKey& key, size_t size) const;

  mutable std::mutex mutex_;
  std::map<EntryKey, PackedBytes> heap_;
  std::vector<File> files_;
  uint64_t heap_bytes_ = 0, file_bytes_ = 0;
};

}  // namespace ferry
