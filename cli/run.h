// ferry run: its options, and how it runs images, tensors and text.
#pragma once

#include <set>
#include <string>

#include "cli/generation.h"
#include "cli/packed_cache.h"
#include "cli/sdk.h"

namespace ferry::cli {

struct RunOptions {
  std::string model, graph, output, tensors, save;
  std::vector<std::string> images, shown;  // shown: images of a prompt
  BackendOptions backend;
  std::string prompt;
  std::vector<int> tokens;
  SamplingOptions sampling;
  std::string mask, box, composite, background;
  std::vector<std::string> points;
  ThreadOptions threads;
  CacheOptions cache;
  int top = 0, tile = 0, max_tokens = 0, mask_index = 0;
  bool taps = false, has_prompt = false, has_tokens = false, json = false, log_probabilities = false, colours = false,
       sixteen_bits = false;

  bool text() const { return has_prompt || has_tokens; }
};

// Notes on standard error, each printed once: the CPU or float32 is used although something else was asked for, or the
// GPU is a software rasteriser. Call print() before and after a run, which may lose its GPU.
class BackendNotes {
 public:
  void print(const ferry_session* session);

 private:
  void print(const std::string& sentence);
  std::set<std::string> printed_;
};

// Replaces folders by the images in them, sorted by name.
std::vector<std::string> images_in(const std::vector<std::string>& given);
// The next three throw Error if the blob is damaged, before they write or print a result; a text that is printed while
// it is generated ends with the error.
// Runs the blob's task on RunOptions.images.
int run_images(const RunOptions& options, const ModelHandle& model, const ferry_session_options& session,
               const PackedCache& cache);
// Runs the blob on the inputs in RunOptions.tensors.
int run_tensors(const RunOptions& options, const ModelHandle& model, const SessionHandle& session,
                const PackedCache& cache);
// Generates text after RunOptions.prompt or RunOptions.tokens.
int run_text(const RunOptions& options, const ModelHandle& model, const ferry_session_options& session,
             const PackedCache& cache);
// Writes outputs, and with --taps every tap, to RunOptions.save, in the source framework's layout. Outputs, `features`,
// `pooled` and `feat/<i>` keep their names, other taps are `tap/<module>`. `embedding`: that of an image; may be empty.
void save_results(const RunOptions& options, const ModelHandle& model, ferry_session* session,
                  const std::vector<float>& embedding = {});

}  // namespace ferry::cli
