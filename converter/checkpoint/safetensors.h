// safetensors: 8 bytes of header length (little-endian), a JSON header, then the tensors' bytes without gaps.
// https://github.com/huggingface/safetensors describes the format.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/mapped_file.h"

namespace ferry {

// Tensors point into `file`. Throws Error.
std::map<std::string, CheckpointTensor> read_safetensors(const MappedFile& file);

// Writes beside `path`, then renames: a failure leaves no partial file. Equal tensors produce equal bytes. Throws
// Error.
void write_safetensors(const std::filesystem::path& path, const std::map<std::string, CheckpointTensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace ferry
