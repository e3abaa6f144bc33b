// Zip archives, including Zip64 and archives at the end of another file. Only stored (uncompressed) entries can be
// read, as torch.save writes them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "converter/checkpoint/mapped_file.h"

namespace ferry {

struct ZipEntry {
  std::span<const std::byte> bytes;  // verbatim from the file
  bool stored = true;                // neither compressed nor encrypted
};

using ZipEntries = std::map<std::string, ZipEntry, std::less<>>;

// Returns the entries by name; they point into `file`. Throws Error if the archive is damaged. Checksums are not
// verified: torch.save may omit them, and torch.load ignores them.
ZipEntries zip_entries(const MappedFile& file);

}  // namespace ferry
