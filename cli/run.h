// ferry run: its options, and its two ways.
#pragma once

#include <string>

#include "cli/sdk.h"

namespace ferry::cli {

struct RunOptions {
  std::string model, graph, picture, output, tensors, save;
  BackendOptions backend;
  int threads = 0, top = 0, tile = 0;
  bool taps = false;
};

// Classifies or enlarges RunOptions.picture.
int run_picture(const RunOptions& options, const ModelHandle& model, const SessionHandle& session);
// Reads the inputs from RunOptions.tensors.
int run_tensors(const RunOptions& options, const ModelHandle& model, const SessionHandle& session);
// Writes outputs, and taps where asked for, to RunOptions.save, in the source framework's layout and by its names:
// outputs, `features`, `pooled` and `feat/<i>` by their own, other taps as `tap/<module>`.
// A picture's embedding, as the blob's recipe gives it, is `embedding`.
void save_results(const RunOptions& options, const ModelHandle& model, const SessionHandle& session);

// Does the blob's recipe make an embedding of output 0? And the last run's.
bool is_embedder(const SessionHandle& session);
std::vector<float> embedding_of(const SessionHandle& session);

}  // namespace ferry::cli
