// Packed weights in the user's cache: --no-cache and --cache-limit. Commands that run a model start at once if an
// earlier run packed its weights.
#pragma once

#include <ferry/ferry.h>

#include <string>

#include "cli/arguments.h"

namespace ferry::cli {

struct CacheOptions {
  bool off = false;
  int limit = 16'000;  // MB
};
void add_cache_options(const Command& command, CacheOptions* options);

// The folder, during a command. At its end, the files that were used longest ago are removed until the others are
// within the limit.
class PackedCache {
 public:
  // Not used for a model that is larger than the limit, and without a home directory.
  PackedCache(const CacheOptions& given, const std::string& model);
  ~PackedCache();
  PackedCache(const PackedCache&) = delete;
  PackedCache& operator=(const PackedCache&) = delete;

  // Sets cache_dir, which points into this object.
  void use(ferry_session_options* options) const;

 private:
  std::string folder_;  // "": none
  uint64_t limit_;
};

// Removes the files of `folder` with the oldest modification times until the others have at most `limit` bytes. Opening
// a packed file counts as its modification.
void remove_oldest_files(const std::string& folder, uint64_t limit);

}  // namespace ferry::cli
