// Shared by image-to-image networks: variants, input, preprocessing and postprocessing.
#pragma once

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry {

inline ImageVariant image_to_image_variant(const std::string& architecture, const std::string& tag,
                                           const std::string& framework, const std::string& hub) {
  ImageVariant variant;
  variant.architecture = architecture;
  variant.tag = tag;
  variant.framework = framework;
  variant.hub = hub;
  variant.num_classes = 0;
  variant.height = variant.width = 128;  // placeholder: any size works
  variant.imagenet_labels = false;
  return variant;
}

struct ImageToImage {
  int upscale = 1;
  int halo = 0;         // receptive field beyond a tile's edge, in input pixels
  float levels = 1;     // value of white, of input and output
  int multiple_of = 1;  // the input's sides must be multiples of it
};

// Adds the network's input, of any height and width, and sets the graph's preprocessing and postprocessing.
inline Tensor image_to_image_input(Graph& graph, const ImageOptions& options, fbs::Layout layout,
                                   const ImageToImage& network) {
  const std::string name = options.variant.name();
  if (options.in_chans != 3) fail("%s takes images of 3 channels, not %d", name.c_str(), options.in_chans);
  if (options.num_classes.value_or(0) > 0) fail("%s has no classes, so --num-classes does not apply", name.c_str());
  if (options.height % network.multiple_of != 0 || options.width % network.multiple_of != 0)
    fail("%s takes images whose sides are multiples of %d, not %dx%d", name.c_str(), network.multiple_of,
         options.height, options.width);
  graph.table.preprocess = std::make_unique<fbs::PreprocessT>();
  graph.table.postprocess = std::make_unique<fbs::PostprocessT>();
  fbs::PostprocessT& after = *graph.table.postprocess;
  after.task = fbs::Task::ImageToImage;
  after.upscale = network.upscale;
  after.halo = network.halo;
  after.multiple_of = network.multiple_of;
  if (network.levels != 1) {
    graph.table.preprocess->mean = after.mean = {0, 0, 0};
    graph.table.preprocess->std = after.std = std::vector<float>(3, 1 / network.levels);
  }
  return graph.add_input(options.input_name, {1, options.height, options.width, 3}, layout);
}

}  // namespace ferry
