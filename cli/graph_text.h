// What a graph does with images, its task and its states, in words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ferry_generated.h"

namespace ferry::cli {

// "shorter edge to 256 (Bicubic), centre crop 224x224, RGB on 0..1, minus 0.485 0.456 0.406, over ..."
std::string preprocess_text(const fbs::Preprocess* p);
// The same by parts, each with its name: resizing, crop, colour order, mean, standard deviation, patches.
std::vector<std::pair<std::string, std::string>> preprocess_parts(const fbs::Preprocess& p);

// "classification, 1000 labels"
std::string task_text(const fbs::Graph& graph);

// "up to [1,8,4096,128] along dimension 2"
std::string state_text(const fbs::State& state);

}  // namespace ferry::cli
