// Tensors of the protobuf schema, including external data. The only header that includes protobuf.
#pragma once

#include <filesystem>
#include <memory>

#include "converter/checkpoint/mapped_file.h"
#include "converter/onnx/array.h"
#include "onnx.pb.h"

namespace ferry::onnx {

// `folder`: where external data may be. `owner` keeps `proto` alive: raw data is not copied. Throws Error if the data
// does not fit the shape, or an Array does not support the type.
Array read_tensor(const ::onnx::TensorProto& proto, const std::filesystem::path& folder,
                  std::shared_ptr<const void> owner);

// Throws Error if the bytes of `file` are not such a message.
void parse_message(const MappedFile& file, google::protobuf::MessageLite* message);

// Reads a file with a single tensor, as in the test data of the ONNX project.
Array read_tensor_file(const std::filesystem::path& path);

}  // namespace ferry::onnx
