#include "cli/packed_cache.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "cli/sdk.h"

namespace ferry::cli {

namespace fs = std::filesystem;

void add_cache_options(const Command& command, CacheOptions* options) {
  command.group("Cache");
  command.add_flag("--no-cache", options->off,
                   "Keep no packed weights. Without it they are in ~/.cache/ferry/packed, and the next start reads "
                   "them");
  command
      .add_option("--cache-limit", options->limit,
                  "Maximum size of packed weights; the files that were used longest ago are removed")
      .range(0, INT32_MAX)
      .type_name("MB")
      .capture_default_str();
  command.add_flag("--no-check", options->no_check,
                   "Do not compare the weights with their checksums. Without it this is done once a file, beside the "
                   "first run");
  command.group("Options");
}

PackedCache::PackedCache(const CacheOptions& given, const std::string& model)
    : limit_(static_cast<uint64_t>(given.limit) * 1'000'000), no_check_(given.no_check) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(model, error);
  if (!given.off && !error && bytes <= limit_) folder_ = cache_folder("packed");
}

PackedCache::~PackedCache() {
  if (!folder_.empty()) remove_oldest_files(folder_, limit_);
}

void PackedCache::use(ferry_session_options* options) const {
  if (!folder_.empty()) options->cache_dir = folder_.c_str();
  options->skip_weight_check = no_check_;
}

void PackedCache::finish_check(const ModelHandle& model) const {
  if (no_check_) return;
  if (const ferry_status status = ferry_model_finish_check(model.get()); status != FERRY_OK)
    fail("%s: what was computed is wrong: copy or convert the file again", ferry_last_error());
}

void remove_oldest_files(const std::string& folder, uint64_t limit) {
  struct File {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;  // another process may remove files, too
    if (!at->is_regular_file(gone)) continue;
    File file{at->last_write_time(gone), at->file_size(gone), at->path()};
    if (gone) continue;
    total += file.bytes;
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= limit) return;
    if (fs::remove(file.path, error)) total -= file.bytes;
  }
}

}  // namespace ferry::cli
