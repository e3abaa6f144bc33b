// Greedy continuation of a text by a language model's blob.
#pragma once

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "cli/sdk.h"
#include "models/families.h"
#include "sdk/text/generator.h"

namespace ferry::parity {

using Ids = std::vector<int32_t>;

inline std::filesystem::path converted(const std::filesystem::path& checkpoint, const std::filesystem::path& output,
                                       const char* max_length = nullptr) {
  ConvertOptions options;
  options.checkpoint = checkpoint;
  options.output = output;
  if (max_length) options.settings.set("max-length", max_length);
  convert(options);
  return output;
}

inline void require(const Status& status) {
  if (!status.ok()) fail("%s", status.message().data());
}

// An image of a text, as patches.
struct Image {
  std::vector<float> patches;
  ImageGrid grid;
};
using Seen = std::vector<Image>;

// The tokens that the model appends to the prompt, which is fed in pieces of `piece` tokens.
inline Ids greedy(const std::filesystem::path& blob, const Ids& prompt, const Seen& images, size_t piece, size_t count,
                  const ferry_session_options& options = cli::session_options(1)) {
  const cli::ModelHandle model = cli::open_model(blob);
  std::unique_ptr<Generator> generator;
  require(Generator::create(model.get(), options, &generator));
  for (const Image& image : images) require(generator->add_patches(image.patches, image.grid));
  for (size_t at = 0; at < prompt.size(); at += piece)
    require(generator->append(std::span(prompt).subspan(at, std::min(piece, prompt.size() - at))));
  Ids tokens(count);
  for (int32_t& token : tokens) require(generator->next(&token));
  return tokens;
}

}  // namespace ferry::parity
