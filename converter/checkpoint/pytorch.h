// What torch.save writes: a zip archive with a pickle and a file for every storage, or (before PyTorch 1.6) pickles and
// storages one after another. The pickle is read by pickle.h: nothing of it runs.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/mapped_file.h"

namespace ferry {

// By content.
bool looks_like_pytorch(std::string_view text);

// The tensors of the dictionary that counts as the checkpoint, as state_dict.h says. Tensors lie in place; those with
// strides of their own are copied to `owned`, contiguous. Throws Error.
std::map<std::string, CheckpointTensor> read_pytorch(const MappedFile& file, const std::string& state_dict,
                                                     std::deque<std::vector<std::byte>>& owned);

}  // namespace ferry
