// Files appear whole or not at all.
#include "converter/pack/new_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(NewFile, HasNoNameUntilItIsKept) {
  const ScratchFolder folder;
  const auto path = folder.path() / "file";
  {
    NewFile file(path);
    file.write(bytes_of("abandoned"));
    if (file.path().parent_path() == folder.path()) GTEST_SKIP() << "the file system has no files without names";
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "a process that is killed here leaves nothing";
    EXPECT_EQ(read_text(file.path()), "abandoned");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  for (const char* text : {"first", "second"}) {  // the second replaces the first
    NewFile file(path);
    file.write(bytes_of("?????"));
    file.write(bytes_of(text + 5));
    file.write_again(bytes_of(text).first(5));
    file.keep();
    EXPECT_EQ(read_text(path), text);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  }
}

TEST(NewFile, HasTheModeOfOtherFiles) {
  const ScratchFolder folder;
  write_file(folder.path() / "a", bytes_of("a"));
  std::ofstream(folder.path() / "b") << "b";
  EXPECT_EQ(std::filesystem::status(folder.path() / "a").permissions(),
            std::filesystem::status(folder.path() / "b").permissions());
}

}  // namespace
}  // namespace ferry
