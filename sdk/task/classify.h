// What the last run of a session says, in the blob's own terms: ferry/image.h.
#pragma once

#include <ferry/image.h>

#include "sdk/graph/session.h"

namespace ferry::task {

// No place in a batch: there is one image.
inline constexpr size_t kOnly = SIZE_MAX;

// The best *count classes of image `index`; *count becomes how many there are. FERRY_INVALID_ARGUMENT: no classifier.
Status top_classes(const Session& session, size_t index, ferry_class* classes, size_t* count);
// The embedding's *count numbers; `values` null: only their count. FERRY_INVALID_ARGUMENT: no embedding, or too little
// room.
Status embedding(const Session& session, size_t index, float* values, size_t* count);

}  // namespace ferry::task
