// Zip archives.
#include "converter/checkpoint/zip.h"

#include "tests/fuzz/harness.h"

FERRY_FUZZ(zip) {
  const auto file = MappedFile::open(Folder::get().write("archive.zip", text));
  expect_error_only([&] {
    for (const auto& [name, entry] : zip_entries(*file)) touch(entry.bytes);
  });
}
