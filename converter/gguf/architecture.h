// Architectures of GGUF files that Ferry has a family for.
#pragma once

#include "converter/gguf/metadata.h"

namespace ferry::gguf {

struct Architecture {
  const char* name;                     // general.architecture
  const char* model_type;               // of config.json
  double theta;                         // default of rope.freq_base
  const char* windowed_type = nullptr;  // of config.json, if attention has a window
  const char* mixture_type = nullptr;   // of config.json, if the file has experts
  bool permuted = false;                // rows of queries and keys are in the order of interleaved rope
  int gemma = 0;                        // generation: norms around attention and MLP, each of which holds 1 + weight
  bool fused = false;                   // ffn_up holds gate and up
  bool experts = false;                 // always
  bool sinks = false;                   // GPT-OSS: sinks of attention, its norms' names, biases of router and experts
};

// Throws Error for another one.
const Architecture& architecture_of(const Metadata& metadata);

}  // namespace ferry::gguf
