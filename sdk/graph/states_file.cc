// States as a file: a header, one entry per state, the app's note, the contents, then a checksum (docs/format.md,
// "Saved states").
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "sdk/files/new_file.h"
#include "sdk/graph/states.h"
#include "sdk/model/seeded.h"
#include "sdk/model/xxh64.h"
#include "sdk/operators/type.h"

namespace ferry {
namespace {

struct Header {
  static constexpr char kMagic[8] = {'F', 'E', 'R', 'R', 'Y', 'S', 'T', '\x1a'};
  static constexpr uint32_t kVersion = 4;

  char magic[8];
  uint32_t version;
  uint32_t count;     // number of states
  uint64_t identity;  // of the model
  uint64_t note;      // size of the note in bytes; since version 2
};
static_assert(sizeof(Header) == 32);

struct Entry {
  uint32_t dtype;
  int32_t axis, length, rank;
  int32_t bound[FERRY_MAX_RANK];
  int32_t first;  // since version 2
};
static_assert(sizeof(Entry) == 44);

// The last bytes, since version 3: XXH64 of all bytes before them; in version 3 their 64-bit FNV-1a.
using Checksum = uint64_t;

// Fields that version 1 lacks are at the end of both structs.
size_t header_bytes(uint32_t version) { return version == 1 ? 24 : sizeof(Header); }
size_t entry_bytes(uint32_t version) { return version == 1 ? 40 : sizeof(Entry); }
size_t checksum_bytes(uint32_t version) { return version < 3 ? 0 : sizeof(Checksum); }

Entry entry_of(const StateShape& state) {
  Entry entry{static_cast<uint32_t>(state.dtype), state.axis, state.length, state.bound.rank, {}, state.first};
  for (int i = 0; i < state.bound.rank; ++i) entry.bound[i] = state.bound[i];
  return entry;
}

class StatesFile {
 public:
  explicit StatesFile(const char* path) : path_(path), file_(std::fopen(path, "rbe")) {}
  ~StatesFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  StatesFile(const StatesFile&) = delete;
  StatesFile& operator=(const StatesFile&) = delete;

  bool open() const { return file_ != nullptr; }
  // The header has been read.
  void set_version(uint32_t version) { version_ = version; }
  // Of what was read so far.
  Checksum checksum() const { return version_ == 3 ? fnv1a_ : hash_.digest(); }
  // FERRY_CORRUPT at the end of the file.
  Status read(void* to, size_t bytes) {
    if (bytes == 0 || std::fread(to, bytes, 1, file_) == 1) {
      add(to, bytes);
      return {};
    }
    if (std::ferror(file_) != 0) return error(FERRY_IO_ERROR, "'%s': cannot be read: %s", path_, std::strerror(errno));
    return error(FERRY_CORRUPT, "'%s': ends before its states do: it is truncated", path_);
  }
  // 0 if it has no size: a pipe.
  uint64_t size() {
    const long end = std::fseek(file_, 0, SEEK_END) == 0 ? std::ftell(file_) : 0;
    std::rewind(file_);
    return end > 0 ? static_cast<uint64_t>(end) : 0;
  }

 private:
  void add(const void* from, size_t bytes) {
    if (version_ == 0 || version_ == 3) fnv1a_ = fnv1a64({static_cast<const char*>(from), bytes}, fnv1a_);
    if (version_ != 3) hash_.update({static_cast<const std::byte*>(from), bytes});
  }

  const char* path_;
  std::FILE* file_;
  uint32_t version_ = 0;  // unknown yet
  Checksum fnv1a_ = fnv1a64({});
  Xxh64 hash_;
};

Status check_header(const char* path, const Header& h, uint64_t identity, size_t count) {
  if (std::memcmp(h.magic, Header::kMagic, sizeof h.magic) != 0)
    return error(FERRY_CORRUPT, "'%s': these are no saved states: the first bytes are not their mark", path);
  if (h.version == 0 || h.version > Header::kVersion)
    return error(h.version == 0 ? FERRY_CORRUPT : FERRY_UNSUPPORTED_VERSION,
                 "'%s': states of version %u, this library reads versions up to %u", path, h.version, Header::kVersion);
  if (h.identity != identity) return error(FERRY_CORRUPT, "'%s': these are another model's states", path);
  if (h.count != count) return error(FERRY_CORRUPT, "'%s': holds %u states, the model has %zu", path, h.count, count);
  return {};
}

Status check_entry(const char* path, const char* name, const Entry& entry, const StateShape& state) {
  Entry expected = entry_of(state);
  expected.length = entry.length;
  expected.first = entry.first;
  if (std::memcmp(&expected, &entry, sizeof entry) != 0)
    return error(FERRY_CORRUPT, "'%s': state '%.64s' is of another shape or type than the model's %s", path, name,
                 in_words(state.bound).c_str());
  if (entry.length < 0 || entry.length > state.max_length())
    return error(FERRY_CORRUPT, "'%s': state '%.64s' holds %d, expected 0 to %d", path, name, entry.length,
                 state.max_length());
  StateShape held = state;
  held.length = entry.length;
  const int32_t newest = held.newest_first();
  if (entry.first < 0 || entry.first > newest)
    return error(FERRY_CORRUPT, "'%s': state '%.64s' of length %d begins with token %d, expected 0 to %d", path, name,
                 entry.length, entry.first, newest);
  return {};
}

}  // namespace

Status States::save(const char* path, std::span<const std::byte> note) const {
  Header header{};
  std::memcpy(header.magic, Header::kMagic, sizeof header.magic);
  header.version = Header::kVersion;
  header.count = static_cast<uint32_t>(count_);
  header.identity = model_->identity();
  header.note = note.size();
  NewFile file;
  Xxh64 hash;
  const auto write = [&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    return file.write(bytes);
  };
  std::string head(reinterpret_cast<const char*>(&header), sizeof header);
  for (size_t i = 0; i < count_; ++i) {
    const Entry entry = entry_of(shapes_[i]);
    head.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  FERRY_TRY(file.open(path));
  FERRY_TRY(write(std::as_bytes(std::span(head))));
  FERRY_TRY(write(note));
  for (size_t i = 0; i < count_; ++i)
    FERRY_TRY(write({static_cast<const std::byte*>(data(i)), static_cast<size_t>(held_bytes(shapes_[i]))}));
  const Checksum checksum = hash.digest();
  FERRY_TRY(file.write(std::as_bytes(std::span(&checksum, 1))));
  return file.keep();
}

Status States::load(const char* path, const ReadNote& read_note) {
  StatesFile file(path);
  if (!file.open()) return error(FERRY_IO_ERROR, "'%s': cannot be opened: %s", path, std::strerror(errno));
  const uint64_t size = file.size();
  Header header{};
  FERRY_TRY(file.read(&header, header_bytes(1)));
  FERRY_TRY(check_header(path, header, model_->identity(), count_));
  file.set_version(header.version);
  FERRY_TRY(file.read(&header.note, header_bytes(header.version) - header_bytes(1)));
  std::unique_ptr<Memory[]> memory(new (std::nothrow) Memory[count_]);
  std::unique_ptr<StateShape[]> loaded(new (std::nothrow) StateShape[count_]);
  if (memory == nullptr || loaded == nullptr) return error(FERRY_OUT_OF_MEMORY, "no memory for %zu states", count_);
  uint64_t bytes = header_bytes(header.version) + count_ * entry_bytes(header.version) + checksum_bytes(header.version);
  int32_t length = 0;
  for (size_t i = 0; i < count_; ++i) {
    Entry entry{};
    FERRY_TRY(file.read(&entry, entry_bytes(header.version)));
    FERRY_TRY(check_entry(path, name(i), entry, shapes_[i]));
    loaded[i] = shapes_[i];
    loaded[i].length = entry.length;
    loaded[i].first = entry.first;
    length = std::max(length, entry.length);
    bytes += held_bytes(loaded[i]);
  }
  if (bytes > size || header.note != size - bytes)  // before memory is allocated for them
    return error(FERRY_CORRUPT,
                 "'%s': has %llu bytes, its states take %llu and its note %llu: it is truncated or "
                 "damaged",
                 path, static_cast<unsigned long long>(size), static_cast<unsigned long long>(bytes),
                 static_cast<unsigned long long>(header.note));
  std::vector<std::byte> note(static_cast<size_t>(header.note));
  FERRY_TRY(file.read(note.data(), note.size()));
  for (size_t i = 0; i < count_; ++i) {
    if (loaded[i].length == 0) continue;
    FERRY_TRY(allocate(i, rows(loaded[i]), &memory[i]));
    FERRY_TRY(file.read(memory[i].bytes.get(), held_bytes(loaded[i])));
  }
  if (header.version >= 3) {
    const Checksum expected = file.checksum();
    Checksum stored = 0;
    FERRY_TRY(file.read(&stored, sizeof stored));
    if (stored != expected)
      return error(FERRY_CORRUPT, "'%s': is damaged: its bytes do not have the checksum %016llx at its end", path,
                   static_cast<unsigned long long>(stored));
  }
  if (read_note != nullptr) FERRY_TRY(read_note(note, length));
  shapes_ = std::move(loaded);
  memory_ = std::move(memory);
  for (size_t i = 0; i < count_; ++i) mark_changed(i);
  ++moves_;
  return {};
}

}  // namespace ferry
