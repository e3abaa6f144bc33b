// Files of torch.save: a zip archive with a pickle and one file per storage; before PyTorch 1.6, consecutive pickles
// and storages. pickle.h reads the pickle without executing it.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/mapped_file.h"

namespace ferry {

// Detected by content.
bool looks_like_pytorch(std::string_view text);

// Returns the tensors of the dictionary that state_dict.h chooses. Tensors point into the file; strided ones, and NumPy
// arrays that are stored as text, are copied to `owned`. `notes`: sentences for the user are appended. Throws Error.
std::map<std::string, CheckpointTensor> read_pytorch(const MappedFile& file, const std::string& state_dict,
                                                     std::deque<std::vector<std::byte>>& owned,
                                                     std::vector<std::string>& notes);

}  // namespace ferry
