// What a blob remembers of its conversion: what was given to it by name and value, so that it can be done again.
#pragma once

#include "converter/convert.h"

namespace ferry {

// Into provenance: this library, where the checkpoint is from, and all of the options that change the blob.
void write_options(const ConvertOptions& options, fbs::ProvenanceT* provenance);

// The way back: the same model, dictionary and settings. What lies around the network is left out (class names, storage
// of weights, the network that reads), and so are paths.
ConvertOptions read_options(const fbs::ProvenanceT& provenance);

}  // namespace ferry
