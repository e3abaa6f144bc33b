// Modules and functions that language models are written with, besides those of converter/graph/ops.h.
#pragma once

#include "converter/graph/ops.h"

namespace ferry::language {

// Root mean square normalization over channels: no mean, no bias (RMSNorm, Zhang and Sennrich 2019).
Tensor rms_norm(Tensor x, const Weights& w, double epsilon);

// Rows of x, N,C, one for each of the Int32 indices I...: I...,C.
Tensor rows(Tensor x, Tensor indices);

// Over the last dimension, with a weight O,I that something else uses, too: a head tied to the embedding.
Tensor linear(Tensor x, Tensor weight);

}  // namespace ferry::language
