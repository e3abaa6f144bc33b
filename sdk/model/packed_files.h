// Where a session finds its model's packed weights, and leaves them for the next: in the blob, in a cache folder.
#pragma once

#include <string>
#include <vector>

#include "sdk/model/packed_file.h"

namespace ferry {

class PackedFiles {
 public:
  // `store`: where entries of files go. cache_dir: null or "": none.
  PackedFiles(const Model& model, PackedStore& store, const char* cache_dir)
      : model_(model), store_(store), cache_dir_(cache_dir ? cache_dir : "") {}

  // Is there anywhere to look, or to write to, and was it not opened yet?
  bool wanted() const;
  // Before weights are packed: attaches what there is for `target`. `known`: why there is none; that is a note.
  void open(const Status& known, const PackedTarget& target);
  // Would save() write what was packed?
  bool saves() const { return usable_; }
  // After they are packed: writes what lies on the store's heap to the cache folder. True where that is done: operators
  // that are lowered anew read the file, and hold nothing on the heap.
  bool save();
  void note(const Status& status);
  // What did not go as planned; none of it keeps a session from working.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const Model& model_;
  PackedStore& store_;
  std::string cache_dir_;
  PackedTarget target_;
  bool opened_ = false;
  bool usable_ = false;  // there is a folder, and the blob can be told from others
  std::vector<std::string> notes_;
};

}  // namespace ferry
