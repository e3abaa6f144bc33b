// The MLPs of transformers and ConvNeXt, with timm's module names.
#pragma once

#include "converter/graph/ops.h"

namespace ferry {

struct MlpOptions {
  int hidden = 0;  // channels of the hidden layer; 0: taken from the weight's shape
  Tensor (*act)(Tensor) = gelu;
  bool conv = false;  // fc1 and fc2 are 1x1 convolutions
  bool grn = false;   // global response normalization after the activation
  bool bias = true;
};

// fc1, act, fc2.
Tensor mlp(Tensor x, const Weights& w, const MlpOptions& options = {});

// SwiGLU: fc2(silu(gate) * value), with `hidden` channels (0: taken from the weight's shape). fc1 outputs gate and
// value concatenated (timm's GluMlp, SwiGLUPacked).
Tensor swiglu_packed(Tensor x, const Weights& w, int hidden = 0);
// SwiGLU with separate layers: fc1_g outputs the gate, fc1_x the value (timm's SwiGLU). `options.act` replaces silu.
Tensor swiglu(Tensor x, const Weights& w, const MlpOptions& options);

// x * sigmoid(1.702 x): the approximation of GELU in OpenAI's CLIP.
Tensor quick_gelu(Tensor x);

}  // namespace ferry
