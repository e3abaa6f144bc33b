// The network of a GGUF file in transformers' terms: config.json and keys.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "converter/checkpoint/checkpoint.h"
#include "converter/gguf/metadata.h"

namespace ferry::gguf {

// config.json of the model that the metadata describes. Throws Error for an architecture that Ferry has no family for,
// and for missing metadata.
nlohmann::json config_of(const File& file, const Metadata& metadata);

// The tensors by transformers' keys. Throws Error that names all tensors that no key is known for.
std::map<std::string, CheckpointTensor> tensors_of(const File& file, const Metadata& metadata);

}  // namespace ferry::gguf
