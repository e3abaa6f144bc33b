// What the last run of a session says, in the blob's own terms: ferry/image.h.
#pragma once

#include <ferry/image.h>

#include "sdk/graph/session.h"

namespace ferry::task {

// The best *count classes; *count becomes how many there are. FERRY_INVALID_ARGUMENT: no classifier.
Status top_classes(const Session& session, ferry_class* classes, size_t* count);
// The embedding's *count numbers; `values` null: only their count. FERRY_INVALID_ARGUMENT: no embedding, or too little
// room.
Status embedding(const Session& session, float* values, size_t* count);

}  // namespace ferry::task
