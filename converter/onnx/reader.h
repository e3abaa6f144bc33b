// Two ONNX files that read text together: one finds lines in an image, one reads a line. They become the graphs of one
// blob, with the preprocessing of PaddleOCR, whose networks they are (Du et al., "PP-OCR: A Practical Ultra Lightweight
// OCR System", arXiv:2009.09941, and its successors).
#pragma once

#include <filesystem>

#include "converter/onnx/convert_onnx.h"
#include "converter/onnx/model.h"

namespace ferry::onnx {

// How their files are imported: where a file leaves the image's sides, or the line's length, open, the blob does.
// Throws Error where the file is no network for one image of three colours.
Request finder_request(const Model& finder);
Request line_request(const Model& line);

// `line` becomes a graph of `finder`, which gets the task. `characters`: a text file, one a line, in the order of the
// classes of `line` after the first, which is none of them; a space follows where there is a class left. Throws Error
// where the networks give something else, or another number of classes. Images are seen at a size of their own where
// `any_size`, and lines as long as they are where `any_length`; else at those of the graphs.
void join_reader(Graph& finder, bool any_size, Graph&& line, bool any_length, const std::filesystem::path& characters);

}  // namespace ferry::onnx
