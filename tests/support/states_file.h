// Files of saved states with changes (docs/format.md, "Saved states").
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "sdk/model/seeded.h"
#include "sdk/model/xxh64.h"

namespace ferry::testing {

// With the checksum of its bytes, if the file is of a version that has one: readers then see what was changed.
inline std::string with_checksum(std::string file) {
  constexpr size_t kVersion = 8, kChecksum = 8;
  uint32_t version = 0;
  if (file.size() < kVersion + sizeof version + kChecksum) return file;
  std::memcpy(&version, file.data() + kVersion, sizeof version);
  if (version < 3) return file;
  const size_t body = file.size() - kChecksum;
  const uint64_t checksum =
      version == 3 ? fnv1a64({file.data(), body}) : xxh64(std::as_bytes(std::span(file.data(), body)));
  std::memcpy(file.data() + body, &checksum, sizeof checksum);
  return file;
}

}  // namespace ferry::testing
