// Remembers in a cache folder which files were compared with their checksums, so that large ones are read for it once.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/model/mapping.h"

namespace ferry {

// Whether this very file, with this checksum, has a record. `folder` "": none.
bool was_checked(const std::string& folder, const FileStamp& file, uint64_t checksum);
// A record that cannot be written is missed at the next start, no more.
void remember_checked(const std::string& folder, const FileStamp& file, uint64_t checksum);

}  // namespace ferry
