#include "sdk/model/packed_files.h"

#include "sdk/files/folder.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_cache.h"

namespace ferry {

bool PackedFiles::wanted() const { return !opened_ && (!cache_dir_.empty() || model_.root().packed() != nullptr); }

void PackedFiles::note(const Status& status) { notes_.push_back("packed weights: " + std::string(status.message())); }

void PackedFiles::open(const Status& known, const PackedTarget& target) {
  opened_ = true;
  if (!known.ok()) return note(known);
  target_ = target;
  usable_ = !cache_dir_.empty();
  if (store_.has_files()) return;  // an earlier session opened them
  if (model_.root().packed() != nullptr)
    if (Status status = attach_embedded(model_, target_, store_); !status.ok()) note(status);
  if (!usable_) return;
  if (const Status own = check_folder_is_own(cache_dir_); !own.ok()) note(own);
  const Status status = attach_cached(store_, cache_dir_.c_str(), target_);
  if (!status.ok() && status.code() != FERRY_NOT_FOUND) note(status);
}

bool PackedFiles::save() {
  if (!usable_ || store_.heap_bytes() == 0) return false;
  usable_ = false;  // save only once
  const Status status = save_cached(store_, cache_dir_.c_str(), target_);
  if (!status.ok()) note(status);
  return status.ok();
}

}  // namespace ferry
