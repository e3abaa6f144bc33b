// How the authors of a language model recommend to choose tokens: generation_config.json beside the checkpoint.
#pragma once

#include <string>
#include <vector>

#include "converter/checkpoint/companions.h"
#include "text_generated.h"

namespace ferry {

// Sets text->sampling from `do_sample`, `temperature`, `top_k`, `top_p`, `min_p` and `repetition_penalty` as
// transformers' generate() reads them: without `do_sample` the temperature is 0, with it top_k is 50 unless the file
// says otherwise. Sets nothing if the file has none of them. `notes` gets a sentence for settings that a blob does not
// hold, and for values out of range, which are left out. Throws Error if the file is damaged.
void add_sampling(const Companions& files, fbs::TextT* text, std::vector<std::string>* notes);

}  // namespace ferry
