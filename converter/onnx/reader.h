// OCR from two ONNX files: a text detector and a line recognizer. They become graphs of one blob with the preprocessing
// of PaddleOCR (Du et al., "PP-OCR: A Practical Ultra Lightweight OCR System", arXiv:2009.09941, and its successors).
#pragma once

#include <filesystem>

#include "converter/onnx/convert_onnx.h"
#include "converter/onnx/model.h"

namespace ferry::onnx {

// Import settings of the two files. Image sides, or the line's width, stay open in the blob if they are open in the
// file. Throws Error if the network's input is not one RGB image.
OnnxRequest finder_request(const Model& finder);
OnnxRequest line_request(const Model& line);

// Adds `line` as a graph of `finder` and sets the task. `characters`: a text file with one character per line, in the
// order of the classes of `line` after the blank; a remaining class is the space. Throws Error if outputs or number of
// classes do not match. `any_size`: images keep their own size; `any_length`: lines keep their own width; else those of
// the graphs are used.
void join_reader(Graph& finder, bool any_size, Graph&& line, bool any_length, const std::filesystem::path& characters);

}  // namespace ferry::onnx
