// ferry run: its options, and its three ways.
#pragma once

#include <string>

#include "cli/sdk.h"

namespace ferry::cli {

struct RunOptions {
  std::string model, graph, picture, output, tensors, save;
  BackendOptions backend;
  std::string prompt;
  std::vector<int> tokens;
  int threads = 0, top = 0, tile = 0, max_tokens = 0;
  bool taps = false, has_prompt = false, has_tokens = false, json = false;

  bool text() const { return has_prompt || has_tokens; }
};

// The GPU that was asked for is not used: one line, and on with the CPU.
bool warn_of_cpu(ferry_session* session);

// Classifies or enlarges RunOptions.picture.
int run_picture(const RunOptions& options, const ModelHandle& model, const SessionHandle& session);
// Reads the inputs from RunOptions.tensors.
int run_tensors(const RunOptions& options, const ModelHandle& model, const SessionHandle& session);
// Goes on with RunOptions.prompt or RunOptions.tokens.
int run_text(const RunOptions& options, const ModelHandle& model, const ferry_session_options& session);
// Writes outputs, and taps where asked for, to RunOptions.save, in the source framework's layout and by its names:
// outputs, `features`, `pooled` and `feat/<i>` by their own, other taps as `tap/<module>`.
// A picture's embedding, as the blob's recipe gives it, is `embedding`.
void save_results(const RunOptions& options, const ModelHandle& model, const SessionHandle& session);

// Does the blob's recipe make an embedding of output 0? And the last run's.
bool is_embedder(const SessionHandle& session);
std::vector<float> embedding_of(const SessionHandle& session);

}  // namespace ferry::cli
