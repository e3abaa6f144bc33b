// The conversion options that a blob records, by name and value, so that the conversion can be repeated.
#pragma once

#include "converter/convert.h"

namespace ferry {

// Writes the options as Option::records says, the checkpoint's origin and the converter's version.
void write_options(const ConvertOptions& options, fbs::ProvenanceT* provenance);

// The inverse: the options that determine the network (Option::rebuilds), but no paths.
ConvertOptions read_options(const fbs::ProvenanceT& provenance);

}  // namespace ferry
