// Where a session finds its model's packed weights, and leaves them for the next: in the blob, in a cache folder.
#pragma once

#include <string>
#include <vector>

#include "sdk/model/packed_file.h"

namespace ferry::cpu {

class PackedFiles {
 public:
  // cache_dir: null or "": none. XNNPACK has been initialized.
  PackedFiles(const Model& model, const char* cache_dir) : model_(model), cache_dir_(cache_dir ? cache_dir : "") {}

  // Before operators are lowered: attaches what there is to the model's store.
  void open();
  // After they are lowered: writes what had to be packed to the cache folder. True where that is done: operators that
  // are lowered anew read the file, and hold nothing on the heap.
  bool save();
  // What did not go as planned; none of it keeps a session from working.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void note(const Status& status);

  const Model& model_;
  std::string cache_dir_;
  PackedTarget target_;
  bool usable_ = false;  // there is a folder, and the blob can be told from others
  std::vector<std::string> notes_;
};

// What packed files of this model are made for on this CPU. FERRY_UNSUPPORTED as PackedTarget::of().
Status packed_target(const Model& model, PackedTarget* out);

}  // namespace ferry::cpu
