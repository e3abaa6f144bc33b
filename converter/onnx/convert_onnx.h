// Converts ONNX files to graphs.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/onnx/taps.h"

namespace ferry::onnx {

struct OnnxRequest {
  std::filesystem::path file;
  std::vector<std::string> shapes;            // of inputs: "input=1x3x224x224"
  std::vector<std::string> values;            // of inputs that are then constants: "sr=16000"
  std::vector<std::string> dynamic;           // dimensions of inputs that the blob leaves open: "batch", "input:0"
  std::vector<std::string> without;           // recognisers to leave out: "gelu", "all"
  TapRequest taps = {};                       // values that the blob keeps for parity
  bool passes = true;                         // false: no pass changes the imported graph
  std::function<void(Graph&)> finish = {};    // edits the imported graph before the passes
  std::vector<std::string>* notes = nullptr;  // gets sentences on what is left out of the graph
};

// Whether the outer fields of the message are those of a model. True for truncated files as well.
bool looks_like_onnx(std::span<const std::byte> bytes);

// The finished graph of the file, with name and provenance. Throws Error, or Refused with all reasons.
std::unique_ptr<Graph> build_graph(const OnnxRequest& request);

// OCR from two files: a text detector and a line recognizer (converter/onnx/reader.h).
struct OcrRequest {
  std::filesystem::path finder, line;
  std::filesystem::path characters;  // the classes of `line`, one per line
  std::vector<std::string> without;  // as above
  bool passes = true;
};
// The detector's graph, which contains the recognizer's. Throws Error also if the files do not match.
std::unique_ptr<Graph> build_ocr(const OcrRequest& request);

struct DecoderRequest {
  std::filesystem::path file;
  std::optional<int64_t> max_length;  // in tokens; none: 4096, or what the rotary caches have if that is less
  std::vector<std::string> without;   // as above
  TapRequest taps = {};               // as above
  bool passes = true;
};
// The graph of a language model with a cache (converter/onnx/decoder.h), for runs of any number of tokens, without its
// text. Null if the file is of another kind.
std::unique_ptr<Graph> build_language_model(const DecoderRequest& request);

// Numbers by input name, from texts like "sr=16000". Throws Error for a malformed one.
std::map<std::string, std::vector<double>> parse_values(const std::vector<std::string>& values);

}  // namespace ferry::onnx
