// What a blob carries so that its checkpoint can be given back byte for byte (converter/export/checkpoint.fbs).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "converter/checkpoint/checkpoint.h"
#include "converter/graph/weights.h"
#include "converter/pack/pack.h"

namespace ferry {

// What was converted.
struct Converted {
  std::shared_ptr<const Checkpoint> checkpoint;
  std::map<std::string, Reading> readings;  // by the checkpoint's keys
};

// Gives the checkpoint's buffer of a blob of this table and data to `sink`. It tells how each tensor of the
// checkpoint's files follows from the constants; what is between tensors, small tensors, and the files beside the
// checkpoint that say what it is (config.json, a tokenizer's) are kept in it. So are tensors that follow from no
// constant, with `all`; without it, where they would make the blob more than a quarter longer, no file can be given
// back, and the buffer says for which tensor's sake. Every tensor's bytes are put together and compared before it is
// written. Throws Error where a file cannot be read.
void record_checkpoint(const Converted& converted, bool all, const fbs::GraphT& table, std::span<const std::byte> data,
                       const Sink& sink);

}  // namespace ferry
