// Zip archives, Zip64 included. Only entries that are stored, not compressed, can be read: those of torch.save are.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "converter/checkpoint/mapped_file.h"

namespace ferry {

struct ZipEntry {
  std::span<const std::byte> bytes;  // as they lie in the file
  bool stored = true;                // neither compressed nor encrypted
};

using ZipEntries = std::map<std::string, ZipEntry, std::less<>>;

// The entries by name, in place. Throws Error where the archive is damaged. Checksums are not compared: torch.save can
// be told to write none, and torch.load does not look at them.
ZipEntries zip_entries(const MappedFile& file);

}  // namespace ferry
