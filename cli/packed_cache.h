// Packed weights in the user's cache, and a record of the blobs whose weights were checked: --no-cache, --cache-limit,
// --no-check. Commands that run a model start at once if an
// earlier run packed its weights.
#pragma once

#include <ferry/ferry.h>

#include <string>

#include "cli/arguments.h"
#include "cli/sdk.h"

namespace ferry::cli {

struct CacheOptions {
  bool off = false;
  int limit = 16'000;  // MB
  bool no_check = false;
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

  // Sets cache_dir, which points into this object, and skip_weight_check.
  void use(ferry_session_options* options) const;
  // Throws if the model's weights are damaged, so that what was computed is wrong.
  void finish_check(const ModelHandle& model) const;

 private:
  std::string folder_;  // "": none
  uint64_t limit_;
  bool no_check_;
};

// Removes the files of `folder` with the oldest modification times until the others have at most `limit` bytes. Opening
// a packed file counts as its modification.
void remove_oldest_files(const std::string& folder, uint64_t limit);

}  // namespace ferry::cli
