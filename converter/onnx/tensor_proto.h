// Tensors of the protobuf schema, with the data that may lie beside the file. The one header that shows protobuf.
#pragma once

#include <filesystem>
#include <memory>

#include "converter/checkpoint/mapped_file.h"
#include "converter/onnx/array.h"
#include "onnx.pb.h"

namespace ferry::onnx {

// `folder`: where external data may lie. `owner` keeps `proto` alive: raw data is not copied. Throws Error where the
// data does not fill the shape, or the type is one that an Array cannot hold.
Array read_tensor(const ::onnx::TensorProto& proto, const std::filesystem::path& folder,
                  std::shared_ptr<const void> owner);

// Throws Error where the bytes of `file` are no such message.
void parse_message(const MappedFile& file, google::protobuf::MessageLite* message);

// A tensor in a file of its own, as the test data of the ONNX project holds them.
Array read_tensor_file(const std::filesystem::path& path);

}  // namespace ferry::onnx
