// Weights in the orders in which kernels read them, packed once for all sessions of a model.
//
// The store knows no kernel: an entry is bytes under a key. Entries lie on the heap, where a session packed them, or in
// packed files (packed_file.h).
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

// What an entry was made of, and how. Places in the blob, not operators: whoever packs the same constants in the same
// way shares them.
struct PackedKey {
  uint32_t weight = 0, bias = 0;  // buffers of the graph; 0: none
  uint64_t packing = 0;           // stands for the layout and all else that the bytes depend on
  uint32_t part = 0;              // of several that one packing gives
  auto operator<=>(const PackedKey&) const = default;
};

// Stands for a layout and all else that packed bytes depend on besides the constants: their types and shapes, tiles,
// what is made of them first. Whoever changes what a layout's bytes are gives it another version.
class PackingId {
 public:
  PackingId(std::string_view layout, uint32_t version);
  PackingId& add(uint64_t number);
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_;
};

// An entry's bytes, which stay where they are while somebody holds them; aligned to kAlignment, and kExtraBytes may be
// read past their end.
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
  // Of them, those that lie on the heap.
  uint64_t heap_bytes() const;

  // The entry of `size` bytes under that key. Where there is none, pack(std::byte*) fills all of its memory and returns
  // a Status; one thread packs at a time, others wait. An entry of another size is none: a key is a hash, and a hostile
  // blob may contrive two layouts with the same one.
  template <typename Pack>
  Status get(const PackedKey& key, size_t size, Pack pack, PackedBytes* out) {
    const auto call = [](void* context, std::byte* to) { return (*static_cast<Pack*>(context))(to); };
    return get(key, size, call, &pack, out);
  }

  struct Found {
    PackedBytes bytes;                // null where there is no such entry
    std::span<const std::byte> file;  // that it lies in; empty: it is on the heap
  };
  Found find(const PackedKey& key, size_t size) const;

  // Looks into this file too from now on. `owner` keeps its bytes where they are; null: they outlive all entries.
  void attach(const PackedFile& file, std::shared_ptr<const void> owner);
  bool has_files() const;
  // All entries in ascending order of key and size, each once.
  std::vector<Entry> entries() const;
  // Lets go of what lies on the heap and in a file as well. Whoever holds such an entry keeps his.
  void drop_copies();
  // Lets go of what lies on the heap and nobody holds.
  void drop_unused();

 private:
  using Call = Status (*)(void* context, std::byte* to);
  struct Place {
    PackedKey key;
    size_t size = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct File;

  Status get(const PackedKey& key, size_t size, Call pack, void* context, PackedBytes* out);
  Found find_in_files(const PackedKey& key, size_t size) const;
  Found find_anywhere(const PackedKey& key, size_t size) const;

  mutable std::mutex mutex_;
  std::map<Place, PackedBytes> heap_;
  std::vector<File> files_;
  uint64_t heap_bytes_ = 0, file_bytes_ = 0;
};

}  // namespace ferry
