// Checkpoints of one file, or of several listed by an index.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/mapped_file.h"

namespace ferry {

// safetensors or PyTorch, by content. `state_dict`: as for open_checkpoint. Throws Error.
std::shared_ptr<const Checkpoint> open_single(std::shared_ptr<const MappedFile> file, const std::string& state_dict);

// Opens a checkpoint by its index (`{"weight_map": {tensor: file}}`, parsed as `root`). Shards lie in the index's
// folder or below. Tensors that it does not list are read, too, with a note. Throws Error.
std::shared_ptr<const Checkpoint> open_sharded(std::shared_ptr<const MappedFile> index, const nlohmann::json& root,
                                               const std::string& state_dict);

}  // namespace ferry
