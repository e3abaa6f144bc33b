#include "sdk/model/packed_file.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "sdk/model/model.h"
#include "sdk/model/seeded.h"
#include "sdk/model/xxh64.h"

namespace ferry {
namespace {

using ull = unsigned long long;

template <typename T>
std::string_view as_text(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

uint64_t checksum(PackedHeader header, std::span<const PackedEntry> table) {
  header.checksum = 0;
  return fnv1a64({reinterpret_cast<const char*>(table.data()), table.size_bytes()}, fnv1a64(as_text(header)));
}

bool before(const PackedEntry& entry, const PackedKey& key, uint64_t size) {
  return entry.key() != key ? entry.key() < key : entry.size < size;
}

Status check_header(std::span<const std::byte> bytes, PackedHeader* header) {
  if (bytes.size() < sizeof *header || std::memcmp(bytes.data(), PackedHeader::kMagic, sizeof header->magic) != 0)
    return error(FERRY_CORRUPT, "it is no file of packed weights");
  std::memcpy(header, bytes.data(), sizeof *header);
  if (header->version == 0 || header->version > PackedHeader::kVersion)
    return error(FERRY_UNSUPPORTED, "it has format version %u, this library reads 1 to %u", header->version,
                 PackedHeader::kVersion);
  if (header->header_bytes != sizeof *header)
    return error(FERRY_CORRUPT, "header_bytes is %u, expected %zu", header->header_bytes, sizeof *header);
  if (header->file_bytes != bytes.size())
    return error(FERRY_CORRUPT, "it should have %llu bytes and has %zu: it is truncated or damaged",
                 static_cast<ull>(header->file_bytes), bytes.size());
  if (header->entries > (bytes.size() - sizeof *header) / sizeof(PackedEntry))
    return error(FERRY_CORRUPT, "its table of %llu entries is longer than its %zu bytes",
                 static_cast<ull>(header->entries), bytes.size());
  return {};
}

Status check_table(std::span<const PackedEntry> table, uint64_t file_bytes) {
  uint64_t end = sizeof(PackedHeader) + table.size_bytes();  // of the preceding parts
  for (size_t i = 0; i < table.size(); ++i) {
    const PackedEntry& e = table[i];
    if (i > 0 && !before(table[i - 1], e.key(), e.size))
      return error(FERRY_CORRUPT, "entry %zu: out of order, or twice", i);
    if (e.reserved != 0) return error(FERRY_CORRUPT, "entry %zu: a reserved field is %u, expected 0", i, e.reserved);
    if (e.size == 0 || e.offset % kAlignment != 0 || e.offset < end)
      return error(FERRY_CORRUPT, "entry %zu: %llu bytes at %llu, expected some at a multiple of %zu from %llu on", i,
                   static_cast<ull>(e.size), static_cast<ull>(e.offset), kAlignment, static_cast<ull>(end));
    if (e.offset > file_bytes || e.size > file_bytes - e.offset || kExtraBytes > file_bytes - e.offset - e.size)
      return error(FERRY_CORRUPT, "entry %zu: %llu bytes at %llu and %zu of padding reach past the end at %llu", i,
                   static_cast<ull>(e.size), static_cast<ull>(e.offset), kExtraBytes, static_cast<ull>(file_bytes));
    end = e.offset + e.size + kExtraBytes;
  }
  return {};
}

Status check_target(const PackedHeader& header, const PackedTarget& target) {
  if (std::string_view(header.content, sizeof header.content) != target.content || header.buffers != target.buffers)
    return error(FERRY_UNSUPPORTED, "it holds the weights of another blob");
  if (header.fingerprint != target.fingerprint)
    return error(FERRY_UNSUPPORTED, "it was packed for another CPU or by another library (%.63s), not for this (%s)",
                 header.description, target.description.c_str());
  return {};
}

}  // namespace

Status PackedTarget::of(const Model& model, uint64_t fingerprint, std::string_view description, PackedTarget* out) {
  const fbs::Graph& graph = model.root();
  out->content = text(graph.content());
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (out->content.size() != sizeof(PackedHeader::content) ||
      !std::all_of(out->content.begin(), out->content.end(), is_digit))
    return error(FERRY_UNSUPPORTED, "the blob has no SHA-256 of its weights: convert it again");
  // Packed files are not part of the weights' hash, so that adding them keeps the blob's identity.
  uint32_t weights = graph.buffers()->size();
  if (graph.packed() != nullptr)
    for (const fbs::Packed* packed : *graph.packed()) weights = std::min(weights, packed->buffer());
  out->buffers = fnv1a64("buffers");
  for (uint32_t i = 0; i < weights; ++i) {
    const fbs::Buffer& buffer = *graph.buffers()->Get(i);
    out->buffers = fnv1a64(as_text(buffer.size()), fnv1a64(as_text(buffer.offset()), out->buffers));
  }
  out->fingerprint = fingerprint;
  out->description = description;
  return {};
}

std::string PackedTarget::file_name() const {
  char name[96];
  std::snprintf(name, sizeof name, "%.32s-%016" PRIx64 "-%016" PRIx64 ".packed", content.c_str(), buffers, fingerprint);
  return name;
}

Status PackedFile::open(std::span<const std::byte> bytes, const PackedTarget& target, PackedFile* out) {
  PackedHeader header;
  FERRY_TRY(check_header(bytes, &header));
  const std::span<const PackedEntry> table(reinterpret_cast<const PackedEntry*>(bytes.data() + sizeof header),
                                           static_cast<size_t>(header.entries));
  if (checksum(header, table) != header.checksum)
    return error(FERRY_CORRUPT, "its checksum does not fit its header and table: it is damaged");
  if (header.version == 1 && header.contents != 0)
    return error(FERRY_CORRUPT, "a reserved field is %llu, expected 0", static_cast<ull>(header.contents));
  FERRY_TRY(check_target(header, target));
  FERRY_TRY(check_table(table, header.file_bytes));
  out->bytes_ = bytes;
  out->entries_ = table;
  out->version_ = header.version;
  out->contents_ = header.contents;
  return {};
}

Status PackedFile::check_contents() const {
  if (version_ == 1) return error(FERRY_UNSUPPORTED, "it has format version 1, without a checksum of its weights");
  Xxh64 hash;
  for (const PackedEntry& entry : entries_) hash.update({bytes(entry), static_cast<size_t>(entry.size)});
  if (hash.digest() == contents_) return {};
  return error(FERRY_CORRUPT, "its weights have the checksum %016llx, expected %016llx: it is damaged",
               static_cast<ull>(hash.digest()), static_cast<ull>(contents_));
}

const std::byte* PackedFile::find(const PackedKey& key, size_t size) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), key,
                                      [&](const PackedEntry& e, const PackedKey& k) { return before(e, k, size); });
  return found != entries_.end() && found->key() == key && found->size == size ? bytes(*found) : nullptr;
}

PackedImage make_packed_image(const PackedStore& store, const PackedTarget& target) {
  const std::vector<PackedStore::Entry> entries = store.entries();
  std::vector<PackedEntry> table;
  PackedImage image;
  Xxh64 contents;
  uint64_t offset = sizeof(PackedHeader) + entries.size() * sizeof(PackedEntry);
  for (const PackedStore::Entry& e : entries) {
    offset = (offset + kAlignment - 1) / kAlignment * kAlignment;
    table.push_back({e.key.weight, e.key.bias, e.key.packing, e.key.part, 0, e.size, offset});
    image.pieces.push_back({offset, {e.bytes.get(), e.size}});
    contents.update(image.pieces.back().bytes);
    offset += e.size + kExtraBytes;
  }
  image.bytes = offset;

  PackedHeader header{};
  std::memcpy(header.magic, PackedHeader::kMagic, sizeof header.magic);
  header.version = PackedHeader::kVersion;
  header.header_bytes = sizeof header;
  header.fingerprint = target.fingerprint;
  header.buffers = target.buffers;
  target.content.copy(header.content, sizeof header.content);
  header.entries = table.size();
  header.file_bytes = image.bytes;
  target.description.copy(header.description, sizeof header.description - 1);
  header.contents = contents.digest();
  header.checksum = checksum(header, table);
  image.head = as_text(header);
  image.head.append(reinterpret_cast<const char*>(table.data()), table.size() * sizeof(PackedEntry));
  return image;
}

}  // namespace ferry
