#include "sdk/model/packed_store.h"

#include <cstdlib>
#include <cstring>

#include "sdk/model/memory_budget.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_file.h"
#include "sdk/model/seeded.h"

namespace ferry {

PackingId::PackingId(std::string_view layout, uint32_t version) : hash_(fnv1a64(layout)) { add(version); }

PackingId& PackingId::add(uint64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  hash_ = fnv1a64({bytes, sizeof bytes}, hash_);
  return *this;
}

struct PackedStore::File {
  PackedFile file;
  std::shared_ptr<const void> owner;
};

PackedStore::PackedStore() = default;
PackedStore::~PackedStore() = default;

uint64_t PackedStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return heap_bytes_ + file_bytes_;
}

uint64_t PackedStore::heap_bytes() const {
  const std::lock_guard lock(mutex_);
  return heap_bytes_;
}

bool PackedStore::has_files() const {
  const std::lock_guard lock(mutex_);
  return !files_.empty();
}

PackedStore::Found PackedStore::find_in_files(const PackedKey& key, size_t size) const {
  for (const File& f : files_)
    if (const std::byte* bytes = f.file.find(key, size)) return {{f.owner, bytes}, f.file.bytes()};
  return {};
}

PackedStore::Found PackedStore::find_anywhere(const PackedKey& key, size_t size) const {
  if (Found found = find_in_files(key, size); found.bytes != nullptr) return found;
  const auto found = heap_.find({key, size});
  return {found != heap_.end() ? found->second : nullptr, {}};
}

PackedStore::Found PackedStore::find(const PackedKey& key, size_t size) const {
  const std::lock_guard lock(mutex_);
  return find_anywhere(key, size);
}

Status PackedStore::get(const PackedKey& key, size_t size, Call pack, void* context, PackedBytes* out) {
  const std::lock_guard lock(mutex_);
  *out = find_anywhere(key, size).bytes;
  if (*out != nullptr) return {};
  FERRY_TRY(MemoryBudget::check_weights(size));
  void* memory = nullptr;
  if (size > SIZE_MAX - kExtraBytes || posix_memalign(&memory, kAlignment, size + kExtraBytes) != 0)
    return error(FERRY_OUT_OF_MEMORY, "no memory for %zu bytes of packed weights", size);
  auto* bytes = static_cast<std::byte*>(memory);
  PackedBytes entry(bytes, [](const std::byte* held) { std::free(const_cast<std::byte*>(held)); });
  FERRY_TRY(pack(context, bytes));
  std::memset(bytes + size, 0, kExtraBytes);
  heap_.emplace(EntryKey{key, size}, entry);
  heap_bytes_ += size;
  MemoryBudget::add_weights(size);
  *out = std::move(entry);
  return {};
}

void PackedStore::attach(const PackedFile& file, std::shared_ptr<const void> owner) {
  const std::lock_guard lock(mutex_);
  uint64_t more = 0;
  for (const PackedEntry& e : file.entries())
    if (find_in_files(e.key(), e.size).bytes == nullptr) more += e.size;
  files_.push_back({file, std::move(owner)});
  file_bytes_ += more;
}

std::vector<PackedStore::Entry> PackedStore::entries() const {
  const std::lock_guard lock(mutex_);
  std::map<EntryKey, PackedBytes> all = heap_;
  for (const File& f : files_)
    for (const PackedEntry& e : f.file.entries())
      all[{e.key(), static_cast<size_t>(e.size)}] = PackedBytes(f.owner, f.file.bytes(e));
  std::vector<Entry> entries;
  for (auto& [at, bytes] : all) entries.push_back({at.key, at.size, std::move(bytes)});
  return entries;
}

void PackedStore::drop_copies() {
  const std::lock_guard lock(mutex_);
  for (auto entry = heap_.begin(); entry != heap_.end();) {
    const bool copied = find_in_files(entry->first.key, entry->first.size).bytes != nullptr;
    if (copied) heap_bytes_ -= entry->first.size;
    entry = copied ? heap_.erase(entry) : std::next(entry);
  }
}

void PackedStore::drop_unused() {
  const std::lock_guard lock(mutex_);
  for (auto entry = heap_.begin(); entry != heap_.end();) {
    const bool unused = entry->second.use_count() == 1;
    if (unused) heap_bytes_ -= entry->first.size;
    entry = unused ? heap_.erase(entry) : std::next(entry);
  }
}

}  // namespace ferry
