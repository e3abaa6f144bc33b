// How `ferry convert` takes an ONNX file.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry::onnx {

struct Request {
  std::filesystem::path file;
  std::vector<std::string> shapes;          // of inputs: "input=1x3x224x224"
  std::vector<std::string> dynamic;         // dimensions of inputs that the blob leaves open: "batch", "input:0"
  std::vector<std::string> without;         // recognisers to leave out: "gelu", "all"
  bool passes = true;                       // false: the graph as it is imported
  std::function<void(Graph&)> finish = {};  // what is still to be appended, before the passes
};

// By content: the outer fields of the message are a model's. A truncated file looks so, too.
bool looks_like_onnx(std::span<const std::byte> bytes);

// The finished graph of the file, with a name and where it is from. Throws Error, or Refused with every reason, where
// the file cannot be converted.
std::unique_ptr<Graph> build_graph(const Request& request);

// Two files that read text (converter/onnx/reader.h): the one that finds lines, and the one that reads them.
struct ReaderRequest {
  std::filesystem::path finder, line;
  std::filesystem::path characters;  // of the second one's classes, one a line
  std::vector<std::string> without;  // as above
  bool passes = true;
};
// One graph with the other in it. Throws as build_graph() does, and where the files do not belong together.
std::unique_ptr<Graph> build_reader(const ReaderRequest& request);

// "input=1x3x224x224" for each: sizes by the input's name. Throws Error where one is written otherwise.
std::map<std::string, std::vector<int64_t>> parse_shapes(const std::vector<std::string>& shapes);

}  // namespace ferry::onnx
