// Parts of a file that are newer than the schema are errors: ignoring them could change the result.
#pragma once

#include "converter/onnx/tensor_proto.h"

namespace ferry::onnx {

// Throw Error that names the message and the field number, if protobuf kept a field that the schema does not have, or
// a value that its enumeration does not have. Of a graph, without its nodes and initializers.
void check_fields(const ::onnx::ModelProto& model);
void check_fields(const ::onnx::GraphProto& graph);
void check_fields(const ::onnx::FunctionProto& function);
void check_fields(const ::onnx::NodeProto& node);
void check_fields(const ::onnx::AttributeProto& attribute);
void check_fields(const ::onnx::TensorProto& tensor);
void check_fields(const ::onnx::ValueInfoProto& value);

// Throws Error if the file's IR version is newer than the schema's.
void check_ir_version(const ::onnx::ModelProto& model);

}  // namespace ferry::onnx
