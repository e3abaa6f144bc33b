// ferry run: its options, and its three ways.
#pragma once

#include <set>
#include <string>

#include "cli/generation.h"
#include "cli/sdk.h"

namespace ferry::cli {

struct RunOptions {
  std::string model, graph, output, tensors, save;
  std::vector<std::string> images, shown;  // shown: to a language model
  BackendOptions backend;
  std::string prompt;
  std::vector<int> tokens;
  SamplingOptions sampling;
  std::string mask, box, composite, background;
  std::vector<std::string> points;
  ThreadOptions threads;
  int top = 0, tile = 0, max_tokens = 0, mask_index = 0;
  bool taps = false, has_prompt = false, has_tokens = false, json = false, log_probabilities = false, colours = false,
       sixteen_bits = false;

  bool text() const { return has_prompt || has_tokens; }
};

// What the CPU does where something else was asked for: a line each, once, and on with it. Asked before and after a
// run, which may lose its GPU.
class CpuWarnings {
 public:
  void print(const ferry_session* session);

 private:
  void print(const std::string& sentence);
  std::set<std::string> printed_;
};

// Folders give the images that lie in them, by name.
std::vector<std::string> images_in(const std::vector<std::string>& given);
// Does with RunOptions.images what the blob is for.
int run_images(const RunOptions& options, const ModelHandle& model, const ferry_session_options& session);
// Reads the inputs from RunOptions.tensors.
int run_tensors(const RunOptions& options, const ModelHandle& model, const SessionHandle& session);
// Goes on with RunOptions.prompt or RunOptions.tokens.
int run_text(const RunOptions& options, const ModelHandle& model, const ferry_session_options& session);
// Writes outputs, and taps where asked for, to RunOptions.save, in the source framework's layout and by its names:
// outputs, `features`, `pooled` and `feat/<i>` by their own, other taps as `tap/<module>`. `embedding`: an image's,
// as the blob's recipe gives it; empty: none.
void save_results(const RunOptions& options, const ModelHandle& model, ferry_session* session,
                  const std::vector<float>& embedding = {});

}  // namespace ferry::cli
