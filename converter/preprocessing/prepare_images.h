// How an image becomes the input of a network whose file does not say it, and what its classes are called. Options say
// it, a known network, or the files that transformers writes beside a checkpoint.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "converter/family.h"
#include "converter/preprocessing/image_settings.h"

namespace ferry {

struct ImageRequest {
  ImageSettings settings;        // what was said by options
  ImageSettings own = {};        // what the file itself says; options come first, field by field
  std::string own_note = {};     // a sentence: where it says so
  std::string like;              // a variant whose images are prepared alike, "timm/resnet50.a1_in1k"; empty: none
  std::string task = {};         // "matting" or "segmentation": what output 0 is; empty: as below
  std::filesystem::path labels;  // class names, one a line; empty: those of `like`, or of a config.json
  std::filesystem::path file;    // the network's: beside it may lie preprocessor_config.json and config.json
  std::vector<std::string> classes = {};  // names that the file itself has, used if `labels` and `like` give none
};

// What the options --like, --labels, --mean and so on request for `file`.
ImageRequest image_request(const Settings& given, const std::filesystem::path& file);

// Sets the graph's preprocessing and, where its first output is one row of scores and names for them are known,
// its task: the best class, or classes where the scores are sigmoids. A softmax or sigmoid at the end is taken off: the
// task has one itself. So it is with `task`, for maps: an ArgMax is taken off, too. `notes`: what files beside `file`
// were taken, or why not. Throws Error where what was asked for does not fit the network.
void prepare_images(Graph& graph, Families families, const ImageRequest& request, std::vector<std::string>* notes);

}  // namespace ferry
