// The multilayer perceptrons of transformers and ConvNeXts, in timm's names.
#pragma once

#include "converter/graph/ops.h"

namespace ferry {

struct MlpOptions {
  int hidden = 0;  // channels between the two products; 0: as many as the weight has
  Tensor (*act)(Tensor) = gelu;
  bool conv = false;  // fc1 and fc2 are 1x1 convolutions, of maps
  bool grn = false;   // global response normalization after the activation
  bool bias = true;
};

// fc1, act, fc2.
Tensor mlp(Tensor x, const Weights& w, const MlpOptions& options = {});

// SwiGLU: silu(gate) * value between two products, `hidden` channels wide (0: as the weight has them).
// Gate and value are the halves of fc1's output (timm's GluMlp, SwiGLUPacked).
Tensor swiglu_packed(Tensor x, const Weights& w, int hidden = 0);
// fc1_g gives the gate, fc1_x the value (timm's SwiGLU); the gate's function may be another than silu.
Tensor swiglu(Tensor x, const Weights& w, const MlpOptions& options);

// x * sigmoid(1.702 x), OpenAI's CLIP's approximation of GELU.
Tensor quick_gelu(Tensor x);

}  // namespace ferry
