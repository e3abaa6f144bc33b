// Loads and saves a session's packed weights: from the blob, and in a cache folder.
#pragma once

#include <string>
#include <vector>

#include "sdk/model/packed_file.h"

namespace ferry {

class PackedFiles {
 public:
  // `store` receives the entries of files. cache_dir: null or "": none.
  PackedFiles(const Model& model, PackedStore& store, const char* cache_dir)
      : model_(model), store_(store), cache_dir_(cache_dir ? cache_dir : "") {}

  // Whether there is a file to read or a folder to write that was not opened yet.
  bool wanted() const;
  // Attaches packed weights for `target`, before weights are packed. `known`: why `target` is invalid; it becomes a
  // note.
  void open(const Status& known, const PackedTarget& target);
  // Whether save() would write packed weights.
  bool saves() const { return usable_; }
  // Writes the store's heap entries to the cache folder, after weights were packed. True if written: operators lowered
  // again use the file, and nothing stays on the heap.
  bool save();
  void note(const Status& status);
  // Problems with packed files, one sentence each; sessions work without them.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const Model& model_;
  PackedStore& store_;
  std::string cache_dir_;
  PackedTarget target_;
  bool opened_ = false;
  bool usable_ = false;  // there is a folder, and the blob has a content hash
  std::vector<std::string> notes_;
};

}  // namespace ferry
