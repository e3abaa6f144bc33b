// Records how a blob's checkpoint can be restored byte for byte (converter/export/checkpoint.fbs).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "converter/checkpoint/checkpoint.h"
#include "converter/graph/weights.h"
#include "converter/pack/pack.h"

namespace ferry {

// The converted checkpoint.
struct Converted {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::map<std::string, Reading> readings;  // by key
};

// Writes the checkpoint's buffer of a blob with this table and data to `sink`. It records how each tensor of the
// checkpoint's files follows from the constants, and stores bytes between tensors, small tensors, and files beside the
// checkpoint (config.json, the tokenizer's). With `all`, it also stores tensors that follow from no constant; without
// it, if these would make the blob more than a quarter longer, no file can be restored, and the buffer names the
// largest such tensor. Every tensor is restored and compared before it is written. Throws Error if a file cannot be
// read. `progress`, if not empty, receives the compared share of the checkpoint, from 0 to 1.
void record_checkpoint(const Converted& converted, bool all, const fbs::GraphT& table, const WrittenData& data,
                       const Sink& sink, const std::function<void(double)>& progress = {});

}  // namespace ferry
