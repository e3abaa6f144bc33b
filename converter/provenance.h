// The conversion options that a blob records, by name and value, so that the conversion can be repeated.
#pragma once

#include "converter/convert.h"

namespace ferry {

// Writes to the provenance: version, origin of the checkpoint, and all options that change the blob.
void write_options(const ConvertOptions& options, fbs::ProvenanceT* provenance);

// The inverse: the same model, dictionary and settings. Excludes class names, storage of weights and the OCR
// recognizer, and paths.
ConvertOptions read_options(const fbs::ProvenanceT& provenance);

}  // namespace ferry
