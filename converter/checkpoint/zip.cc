#include "converter/checkpoint/zip.h"

#include <cstring>
#include <optional>

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry {
namespace {

constexpr uint32_t kEndOfDirectory = 0x06054b50, kEndOfDirectory64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint32_t kDirectoryEntry = 0x02014b50, kLocalEntry = 0x04034b50;
constexpr size_t kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20, kDirectoryEntrySize = 46, kLocalEntrySize = 30;
constexpr uint16_t kEncrypted = 1, kZip64Extra = 1;

struct Directory {
  uint64_t entries = 0, size = 0, offset = 0;
  uint64_t end = 0;  // where it ends in the file

  // Of the archive in the file: one that was appended to another file as it is counts from its own beginning.
  uint64_t beginning() const { return end >= size && end - size >= offset ? end - size - offset : 0; }
};

struct Archive {
  std::span<const std::byte> bytes;
  std::string path;

  // Reads a little-endian value. Throws Error beyond the end of the file.
  template <typename T>
  T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, range(offset, sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::span<const std::byte> range(uint64_t offset, uint64_t size) const {
    if (offset > bytes.size() || size > bytes.size() - offset)
      fail("%s: this zip archive is damaged: it names bytes beyond its end (a truncated download?)", path.c_str());
    return bytes.subspan(offset, size);
  }

  // Offset of the end-of-central-directory record; a comment of at most 65535 bytes may follow it.
  uint64_t end_record() const {
    for (uint64_t back = kEndSize; back <= bytes.size() && back <= kEndSize + 0xffff; ++back) {
      const uint64_t at_end = bytes.size() - back;
      if (at<uint32_t>(at_end) == kEndOfDirectory && at<uint16_t>(at_end + 20) == back - kEndSize) return at_end;
    }
    fail("%s: this zip archive has no directory at its end: a truncated download?", path.c_str());
  }

  Directory directory() const {
    const uint64_t end = end_record();
    if (end >= kLocatorSize && at<uint32_t>(end - kLocatorSize) == kLocator64) {
      const uint64_t end64 = at<uint64_t>(end - kLocatorSize + 8);
      range(end64, kEnd64Size);
      if (at<uint32_t>(end64) != kEndOfDirectory64)
        fail("%s: this zip archive is damaged: its Zip64 record is not where it should be", path.c_str());
      return {at<uint64_t>(end64 + 32), at<uint64_t>(end64 + 40), at<uint64_t>(end64 + 48), end64};
    }
    return {at<uint16_t>(end + 10), at<uint32_t>(end + 12), at<uint32_t>(end + 16), end};
  }

  // Zip64: only sizes and offsets that exceed 32 bits are in the extra field.
  void widen(uint64_t extra, uint64_t extra_end, std::initializer_list<uint64_t*> fields) const {
    for (uint64_t at_field = extra; at_field + 4 <= extra_end;) {
      const uint64_t size = at<uint16_t>(at_field + 2);
      if (at<uint16_t>(at_field) == kZip64Extra) {
        uint64_t value = at_field + 4;
        for (uint64_t* field : fields) {
          if (*field != 0xffffffff) continue;
          *field = at<uint64_t>(value);
          value += 8;
        }
        return;
      }
      at_field += 4 + size;
    }
  }

  // Returns the offset of the next directory entry.
  uint64_t read_entry(uint64_t entry, ZipEntries& entries) const {
    range(entry, kDirectoryEntrySize);
    if (at<uint32_t>(entry) != kDirectoryEntry)
      fail("%s: this zip archive is damaged: its directory contains an invalid entry", path.c_str());
    const uint64_t name_size = at<uint16_t>(entry + 28), extra_size = at<uint16_t>(entry + 30);
    const auto raw_name = range(entry + kDirectoryEntrySize, name_size);
    const std::string name(reinterpret_cast<const char*>(raw_name.data()), name_size);
    const uint64_t extra = entry + kDirectoryEntrySize + name_size;
    range(extra, extra_size);
    uint64_t packed = at<uint32_t>(entry + 20), size = at<uint32_t>(entry + 24), offset = at<uint32_t>(entry + 42);
    widen(extra, extra + extra_size, {&size, &packed, &offset});
    const std::string quoted = in_quotes(name);
    const bool stored = !(at<uint16_t>(entry + 8) & kEncrypted) && at<uint16_t>(entry + 10) == 0 && packed == size;
    range(offset, kLocalEntrySize);
    if (at<uint32_t>(offset) != kLocalEntry)
      fail("%s: this zip archive is damaged: its entry %s is not where the directory says", path.c_str(),
           quoted.c_str());
    const uint64_t data = offset + kLocalEntrySize + at<uint16_t>(offset + 26) + at<uint16_t>(offset + 28);
    if (!entries.emplace(name, ZipEntry{range(data, packed), stored}).second)
      fail("%s: this zip archive holds the entry %s twice", path.c_str(), quoted.c_str());
    return extra + extra_size + at<uint16_t>(entry + 32);
  }
};

}  // namespace

ZipEntries zip_entries(const MappedFile& file) {
  Archive archive{file.bytes(), file.path().string()};
  const Directory directory = archive.directory();
  archive.bytes = archive.bytes.subspan(directory.beginning());
  archive.range(directory.offset, directory.size);
  ZipEntries entries;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.entries; ++i) at = archive.read_entry(at, entries);
  return entries;
}

}  // namespace ferry
