// The store of packed weights and its files: entries survive a round trip, and anything else is rejected.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>

#include "sdk/descriptor.h"
#include "sdk/files/folder.h"
#include "sdk/model/checked_files.h"
#include "sdk/model/mapping.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_cache.h"
#include "sdk/model/seeded.h"
#include "tests/support/blobs.h"
#include "tests/support/scratch_folder.h"

namespace ferry::testing {
namespace {

using Bytes = std::vector<std::byte>;

PackedTarget target() {
  return {.content = std::string(64, 'a'), .buffers = 5, .fingerprint = 7, .description = "a CPU"};
}

// An entry filled with one value.
void put(PackedStore& store, const PackedKey& key, size_t size, int value, PackedBytes* out = nullptr) {
  PackedBytes bytes;
  const auto fill = [&](std::byte* to) {
    std::memset(to, value, size);
    return Status();
  };
  ASSERT_TRUE(store.get(key, size, fill, &bytes).ok());
  if (out != nullptr) *out = bytes;
}

void fill_store(PackedStore& store) {
  put(store, {3, 0, 11, 0}, 100, 1);
  put(store, {1, 2, 10, 0}, 64, 2);
  put(store, {1, 2, 10, 1}, 7, 3);
  put(store, {1, 2, 10, 1}, 300, 4);
}

// The value that an entry is filled with; -1 if the store would have to pack it.
int value_of(PackedStore& store, const PackedKey& key, size_t size) {
  PackedBytes bytes;
  const Status status = store.get(
      key, size, [](std::byte*) { return error(FERRY_NOT_FOUND, "none"); }, &bytes);
  if (!status.ok()) return -1;
  for (size_t i = 1; i < size; ++i)
    if (bytes.get()[i] != bytes.get()[0]) return -2;
  return static_cast<int>(bytes.get()[0]);
}

Bytes file_of(const PackedStore& store) {
  const PackedImage image = make_packed_image(store, target());
  Bytes bytes(image.bytes);
  std::memcpy(bytes.data(), image.head.data(), image.head.size());
  for (const auto& piece : image.pieces)
    std::memcpy(bytes.data() + piece.offset, piece.bytes.data(), piece.bytes.size());
  return bytes;
}

Bytes small_file() {
  PackedStore store;
  fill_store(store);
  return file_of(store);
}

Status open(const Bytes& bytes, const PackedTarget& wanted = target()) {
  AlignedBytes aligned(bytes);
  PackedFile file;
  return PackedFile::open({aligned.data(), aligned.size()}, wanted, &file);
}

TEST(PackedStore, PacksOnceAndKnowsAnEntryByKeyAndSize) {
  PackedStore store;
  fill_store(store);
  EXPECT_EQ(store.bytes(), 471u);
  EXPECT_EQ(value_of(store, {3, 0, 11, 0}, 100), 1);
  EXPECT_EQ(value_of(store, {1, 2, 10, 1}, 7), 3);
  EXPECT_EQ(value_of(store, {1, 2, 10, 1}, 300), 4);
  EXPECT_EQ(value_of(store, {1, 2, 10, 1}, 8), -1);
  EXPECT_EQ(value_of(store, {1, 2, 11, 1}, 7), -1);
  EXPECT_EQ(store.bytes(), 471u) << "what failed to pack is not kept";
}

TEST(PackedStore, AlignsEntriesAndPadsThem) {
  PackedStore store;
  PackedBytes bytes;
  put(store, {1, 0, 1, 0}, 33, 5, &bytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.get()) % kAlignment, 0u);
  for (size_t i = 0; i < kExtraBytes; ++i) EXPECT_EQ(bytes.get()[33 + i], std::byte{0});
}

TEST(PackedFile, RestoresTheStoresEntries) {
  const Bytes bytes = small_file();
  AlignedBytes aligned(bytes);
  PackedFile file;
  ASSERT_TRUE(PackedFile::open({aligned.data(), aligned.size()}, target(), &file).ok());
  EXPECT_EQ(file.entries().size(), 4u);
  PackedStore store;
  store.attach(file, nullptr);
  EXPECT_EQ(store.bytes(), 471u);
  EXPECT_EQ(store.heap_bytes(), 0u);
  EXPECT_EQ(value_of(store, {3, 0, 11, 0}, 100), 1);
  EXPECT_EQ(value_of(store, {1, 2, 10, 1}, 7), 3);
  EXPECT_EQ(value_of(store, {1, 2, 10, 1}, 300), 4);
  EXPECT_EQ(value_of(store, {1, 2, 10, 0}, 65), -1);
  EXPECT_EQ(file_of(store), bytes) << "the same entries give the same file";
}

TEST(PackedFile, IsRefusedIfTruncated) {
  const Bytes bytes = small_file();
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(open({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)}).code(), FERRY_CORRUPT) << size;
  Bytes longer = bytes;
  longer.resize(bytes.size() + 64);
  EXPECT_EQ(open(longer).code(), FERRY_CORRUPT);
}

TEST(PackedFile, IsRefusedIfABitOfItsHeaderOrTableIsWrong) {
  Bytes bytes = small_file();
  for (size_t bit = 0; bit < 8 * (sizeof(PackedHeader) + 4 * sizeof(PackedEntry)); ++bit) {
    const std::byte mask = std::byte{1} << (bit % 8);
    bytes[bit / 8] ^= mask;
    EXPECT_FALSE(open(bytes).ok()) << bit;
    bytes[bit / 8] ^= mask;
  }
  EXPECT_TRUE(open(bytes).ok());
}

TEST(PackedFile, IsRefusedForAnotherBlobOrCpu) {
  PackedTarget blob = target(), places = target(), cpu = target();
  blob.content[0] = 'b';
  places.buffers = 6;
  cpu.fingerprint = 8;
  for (const PackedTarget& other : {blob, places, cpu}) EXPECT_EQ(open(small_file(), other).code(), FERRY_UNSUPPORTED);
  EXPECT_NE(open(small_file(), cpu).message().find("(a CPU)"), std::string::npos);
}

// A file that was modified deliberately, including its checksum.
struct Contrived {
  const char* name;
  std::function<void(PackedHeader&, PackedEntry*)> change;
};

class ContrivedPackedFile : public ::testing::TestWithParam<Contrived> {};

TEST_P(ContrivedPackedFile, IsRefused) {
  Bytes bytes = small_file();
  PackedHeader header;
  PackedEntry table[4];
  std::memcpy(&header, bytes.data(), sizeof header);
  std::memcpy(table, bytes.data() + sizeof header, sizeof table);
  GetParam().change(header, table);
  header.checksum = 0;
  const auto text = [](const void* data, size_t size) {
    return std::string_view(static_cast<const char*>(data), size);
  };
  const size_t entries = std::min<size_t>(header.entries, 4);
  header.checksum = fnv1a64(text(table, entries * sizeof *table), fnv1a64(text(&header, sizeof header)));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, table, sizeof table);
  EXPECT_FALSE(open(bytes).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Unit, ContrivedPackedFile,
    ::testing::Values(
        Contrived{"Version", [](PackedHeader& h, PackedEntry*) { h.version = 3; }},
        Contrived{"HeaderBytes", [](PackedHeader& h, PackedEntry*) { h.header_bytes = 184; }},
        Contrived{"Reserved", [](PackedHeader& h, PackedEntry*) { h.version = 1, h.contents = 1; }},
        Contrived{"ManyEntries", [](PackedHeader& h, PackedEntry*) { h.entries = ~uint64_t{0} / 40; }},
        Contrived{"EntriesOfData", [](PackedHeader& h, PackedEntry*) { h.entries = 12; }},
        Contrived{"Overlap", [](PackedHeader&, PackedEntry* e) { e[1].offset = e[0].offset; }},
        Contrived{"OverTheTable", [](PackedHeader&, PackedEntry* e) { e[0].offset = 192; }},
        Contrived{"NoPadding", [](PackedHeader&, PackedEntry* e) { e[0].size = 64, e[1].offset = e[0].offset + 64; }},
        Contrived{"Misaligned", [](PackedHeader&, PackedEntry* e) { e[3].offset += 8; }},
        Contrived{"Empty", [](PackedHeader&, PackedEntry* e) { e[0].size = 0; }},
        Contrived{"PastTheEnd", [](PackedHeader&, PackedEntry* e) { e[3].size += 1; }},
        Contrived{"FarPastTheEnd", [](PackedHeader&, PackedEntry* e) { e[3].size = ~uint64_t{0} - 63; }},
        Contrived{"OffsetFarAway", [](PackedHeader&, PackedEntry* e) { e[3].offset = ~uint64_t{63}; }},
        Contrived{"Twice", [](PackedHeader&, PackedEntry* e) { e[1].part = e[0].part, e[1].size = e[0].size; }},
        Contrived{"OutOfOrder", [](PackedHeader&, PackedEntry* e) { e[0].weight = 2; }},
        Contrived{"ReservedOfAnEntry", [](PackedHeader&, PackedEntry* e) { e[2].reserved = 1; }}),
    [](const auto& tested) { return tested.param.name; });

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(PackedCache, WritesTheHeapToAFileAndFreesIt) {
  const ScratchFolder folder;
  const auto cache = folder.path() / "a" / "b";
  PackedStore store;
  PackedBytes held;
  put(store, {1, 0, 1, 0}, 50, 9, &held);
  const Status status = save_cached(store, cache.c_str(), target());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(store.heap_bytes(), 0u);
  EXPECT_EQ(store.bytes(), 50u);
  EXPECT_EQ(value_of(store, {1, 0, 1, 0}, 50), 9);
  EXPECT_EQ(held.get()[49], std::byte{9}) << "an entry in use stays";
  EXPECT_EQ(names_in(cache), std::vector<std::string>{target().file_name()});

  PackedStore later;
  ASSERT_TRUE(attach_cached(later, cache.c_str(), target()).ok());
  EXPECT_EQ(value_of(later, {1, 0, 1, 0}, 50), 9);
}

TEST(PackedCache, KeepsWhatAnotherSessionWrote) {
  const ScratchFolder folder;
  PackedStore first, second, third;
  put(first, {1, 0, 1, 0}, 50, 1);
  put(second, {2, 0, 1, 0}, 50, 2);
  ASSERT_TRUE(save_cached(first, folder.path().c_str(), target()).ok());
  ASSERT_TRUE(save_cached(second, folder.path().c_str(), target()).ok());
  ASSERT_TRUE(attach_cached(third, folder.path().c_str(), target()).ok());
  EXPECT_EQ(value_of(third, {1, 0, 1, 0}, 50), 1);
  EXPECT_EQ(value_of(third, {2, 0, 1, 0}, 50), 2);
  EXPECT_EQ(value_of(first, {1, 0, 1, 0}, 50), 1) << "a replaced file stays mapped";
}

TEST(PackedCache, ReplacesAFileThatIsDamaged) {
  const ScratchFolder folder;
  folder.write(target().file_name(), "nothing");
  PackedStore store;
  EXPECT_EQ(attach_cached(store, folder.path().c_str(), target()).code(), FERRY_CORRUPT);
  put(store, {1, 0, 1, 0}, 50, 1);
  ASSERT_TRUE(save_cached(store, folder.path().c_str(), target()).ok());
  PackedStore later;
  EXPECT_TRUE(attach_cached(later, folder.path().c_str(), target()).ok());
}

TEST(PackedCache, FindsEveryDamagedByte) {
  const ScratchFolder folder;
  PackedStore store;
  put(store, {1, 0, 1, 0}, 50, 1);
  ASSERT_TRUE(save_cached(store, folder.path().c_str(), target()).ok());
  const auto path = folder.path() / target().file_name();
  const std::string good = read_text(path);
  for (size_t at = 0; at < good.size(); at += 3) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    folder.write(target().file_name(), bad);
    PackedStore reader;
    const size_t begin = sizeof(PackedHeader) + sizeof(PackedEntry), data = (begin + 63) / 64 * 64;
    const bool matters = at < begin || (at >= data && at < data + 50);  // the rest is padding, which nobody reads
    EXPECT_EQ(attach_cached(reader, folder.path().c_str(), target()).ok(), !matters) << at;
  }
}

// A folder that others can write to.
TEST(PackedCache, ReadsALargeFileOnceForItsChecksum) {
  const ScratchFolder folder;
  PackedStore store;
  put(store, {1, 0, 1, 0}, 17 << 20, 1);
  ASSERT_TRUE(save_cached(store, folder.path().c_str(), target()).ok());
  const auto opens = [&] {
    PackedStore reader;
    return attach_cached(reader, folder.path().c_str(), target()).ok();
  };
  EXPECT_TRUE(opens());
  EXPECT_EQ(names_in(folder.path()).size(), 2u) << "the file and its record";
  EXPECT_TRUE(opens());
  const Descriptor file(::open((folder.path() / target().file_name()).c_str(), O_RDWR | O_CLOEXEC));
  PackedHeader header;
  ASSERT_EQ(::pread(file.get(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  ASSERT_EQ(::pwrite(file.get(), "damage", 6, 1 << 20), 6);
  EXPECT_FALSE(opens()) << "it was written since then";
  FileStamp stamp;
  ASSERT_TRUE(stamp_of(file.get(), &stamp).ok());
  remember_checked(folder.path(), stamp, header.contents);
  EXPECT_TRUE(opens()) << "what has a record is not read";
}

TEST(PackedCache, RefusesFilesOfOthers) {
  const ScratchFolder folder;
  PackedStore store;
  put(store, {1, 0, 1, 0}, 50, 1);
  ASSERT_TRUE(save_cached(store, folder.path().c_str(), target()).ok());
  const auto path = folder.path() / target().file_name();
  const auto refused = [&](const char* what) {
    PackedStore reader;
    const Status status = attach_cached(reader, folder.path().c_str(), target());
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(what), std::string::npos) << status.message();
  };
  ::chmod(path.c_str(), 0646);
  refused("everybody may write it (mode 0646)");
  ::chmod(path.c_str(), 0664);
  PackedStore reader;
  EXPECT_TRUE(attach_cached(reader, folder.path().c_str(), target()).ok());
  std::filesystem::rename(path, folder.path() / "elsewhere");
  std::filesystem::create_symlink("elsewhere", path);
  refused("cannot be opened");
  std::filesystem::rename(folder.path() / "elsewhere", path);
  if (geteuid() == 0 && ::chown(path.c_str(), 1234, 1234) == 0) {
    refused("it belongs to another user (1234, this process is 0)");
    PackedStore again;  // replaced by our own
    put(again, {1, 0, 1, 0}, 50, 1);
    EXPECT_TRUE(save_cached(again, folder.path().c_str(), target()).ok());
    EXPECT_TRUE(attach_cached(reader, folder.path().c_str(), target()).ok());
  }
}

TEST(PackedCache, SaysThatOthersCanWriteToTheFolder) {
  const ScratchFolder folder;
  EXPECT_TRUE(check_folder_is_own(folder.path()).ok());
  ::chmod(folder.path().c_str(), 0757);
  EXPECT_NE(check_folder_is_own(folder.path()).message().find("is writable by other users (mode 0757)"),
            std::string::npos);
  ::chmod(folder.path().c_str(), 01777);
  EXPECT_FALSE(check_folder_is_own(folder.path()).ok());
  ::chmod(folder.path().c_str(), 0775);
  EXPECT_TRUE(check_folder_is_own(folder.path()).ok()) << "this user's own group";
}

TEST(PackedCache, ReportsObstacles) {
  const ScratchFolder folder;
  const auto file = folder.write("file", "");
  PackedStore store;
  put(store, {1, 0, 1, 0}, 50, 1);
  EXPECT_EQ(attach_cached(store, folder.path().c_str(), target()).code(), FERRY_NOT_FOUND);
  EXPECT_EQ(save_cached(store, file.c_str(), target()).code(), FERRY_IO_ERROR);

  // Another process is writing.
  const std::string lock = (folder.path() / target().file_name()).string() + ".lock";
  const int fd = ::open(lock.c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  const Status status = save_cached(store, folder.path().c_str(), target());
  EXPECT_EQ(status.code(), FERRY_IO_ERROR);
  EXPECT_NE(status.message().find("another session"), std::string::npos) << status.message();
  EXPECT_EQ(value_of(store, {1, 0, 1, 0}, 50), 1);
  ::close(fd);
  // Another process died while writing; its leftovers do not interfere.
  EXPECT_TRUE(save_cached(store, folder.path().c_str(), target()).ok());
  EXPECT_FALSE(std::filesystem::exists(lock));
}

TEST(PackedCache, LeavesNothingBehindIfTheDiskIsFull) {
  const ScratchFolder folder;
  PackedStore store;
  put(store, {1, 0, 1, 0}, 1 << 20, 1);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1 << 16, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = save_cached(store, folder.path().c_str(), target());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code(), FERRY_IO_ERROR);
  EXPECT_NE(status.message().find("File too large"), std::string::npos) << status.message();
  EXPECT_TRUE(names_in(folder.path()).empty());
  EXPECT_EQ(value_of(store, {1, 0, 1, 0}, 1 << 20), 1);
}

}  // namespace
}  // namespace ferry::testing
