// Language models with a cache, as optimum and ONNX Runtime's model builder write them: tokens in, logits out, and the
// keys and values of earlier tokens as inputs of GroupQueryAttention and as outputs. In a blob they are states.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "converter/graph/graph.h"
#include "converter/graph/ops.h"
#include "converter/onnx/convert_onnx.h"
#include "converter/onnx/model.h"

namespace ferry::onnx {

struct Decoder {
  struct Cache {
    std::string present;  // the output
    int32_t width;        // heads * channels
  };
  std::string ids;                      // token ids [1,L]
  std::string mask;                     // 1 for each token so far, or empty
  std::string positions;                // of the tokens, or empty
  std::string logits;                   // [1,L,vocabulary]
  std::map<std::string, Cache> caches;  // by the input
  int64_t rows = 0;                     // positions in the smallest rotary cache; 0: unknown
};

// Nothing if the file is of another kind. Throws Refused if it is a decoder of which only attention may read the mask
// and the cache, and other nodes do: then they cannot be states.
std::optional<Decoder> find_decoder(const Model& model);

// What an import makes of a decoder's inputs.
struct DecoderStates {
  const Decoder& decoder;
  int32_t max_length;  // of prompt and answer, in tokens
  std::map<std::string, State> states;
  std::optional<Tensor> positions;  // Int32 [1,L], of this run's tokens
};

std::unique_ptr<Graph> build_decoder(const Model& model, const DecoderRequest& request, const TapNames& taps = {});

}  // namespace ferry::onnx
