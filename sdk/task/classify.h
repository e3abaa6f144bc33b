// Classes and embeddings from a session's last run: see ferry/image.h.
#pragma once

#include <ferry/image.h>

#include "sdk/graph/session.h"

namespace ferry::task {

// Not a batch: the only image.
inline constexpr size_t kOnly = SIZE_MAX;

// The best *count classes of image `index`; sets *count to the number written. FERRY_INVALID_ARGUMENT: not a
// classifier.
Status top_classes(const Session& session, size_t index, ferry_class* classes, size_t* count);
// The *count elements of the embedding; `values` null: only *count is set. FERRY_INVALID_ARGUMENT: no embedding, or the
// capacity is too small.
Status embedding(const Session& session, size_t index, float* values, size_t* count);

}  // namespace ferry::task
