#include "sdk/cpu/packed_files.h"

#include "sdk/cpu/fingerprint.h"
#include "sdk/model/model.h"
#include "sdk/model/packed_cache.h"

namespace ferry::cpu {

Status packed_target(const Model& model, PackedTarget* out) {
  Fingerprint here;
  FERRY_TRY(fingerprint(cpu_features(), &here));
  return PackedTarget::of(model, here.value, here.description, out);
}

void PackedFiles::note(const Status& status) { notes_.push_back("packed weights: " + status.message()); }

void PackedFiles::open() {
  const bool embedded = model_.root().packed() != nullptr;
  if (cache_dir_.empty() && !embedded) return;
  if (Status status = packed_target(model_, &target_); !status.ok()) return note(status);
  usable_ = !cache_dir_.empty();
  if (model_.packed().has_files()) return;  // an earlier session's
  if (embedded)
    if (Status status = attach_embedded(model_, target_); !status.ok()) note(status);
  if (!usable_) return;
  const Status status = attach_cached(model_.packed(), cache_dir_.c_str(), target_);
  if (!status.ok() && status.code() != FERRY_NOT_FOUND) note(status);
}

bool PackedFiles::save() {
  if (!usable_ || model_.packed().heap_bytes() == 0) return false;
  usable_ = false;  // once
  const Status status = save_cached(model_.packed(), cache_dir_.c_str(), target_);
  if (!status.ok()) note(status);
  return status.ok();
}

}  // namespace ferry::cpu
