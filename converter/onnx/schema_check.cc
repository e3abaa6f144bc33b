#include "converter/onnx/schema_check.h"

#include <google/protobuf/io/coded_stream.h>
#include <algorithm>
#include <initializer_list>

namespace ferry::onnx {
namespace {

// The number of the first unknown field that is not among `harmless`; 0 if there is none.
uint32_t first_field(const std::string& unknown, std::initializer_list<uint32_t> harmless) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(unknown.data()),
                                                static_cast<int>(unknown.size()));
  while (const uint32_t tag = stream.ReadTag()) {
    const uint32_t field = tag >> 3;
    if (std::find(harmless.begin(), harmless.end(), field) == harmless.end()) return field;
    uint32_t size = 0;
    uint64_t value = 0;
    const uint32_t wire = tag & 7;  // 0: varint, 1: 64 bits, 2: with a length, 5: 32 bits
    const bool skipped = wire == 0   ? stream.ReadVarint64(&value)
                         : wire == 1 ? stream.Skip(8)
                         : wire == 2 ? stream.ReadVarint32(&size) && stream.Skip(static_cast<int>(size))
                                     : wire == 5 && stream.Skip(4);
    if (!skipped) return field;
  }
  return 0;
}

// `name`: of the message's content; may be empty.
template <typename Message>
void check(const Message& message, const char* type, const std::string& name,
           std::initializer_list<uint32_t> harmless = {}) {
  const std::string& unknown = message.unknown_fields();
  if (unknown.empty()) return;
  if (const uint32_t field = first_field(unknown, harmless))
    fail("field %u of %s%s, or its value, is not known up to ONNX's IR version %d: save the file for an older one",
         field, type, name.empty() ? "" : (" '" + name + "'").c_str(), static_cast<int>(::onnx::IR_VERSION));
}

}  // namespace

void check_fields(const ::onnx::ModelProto& model) {
  check(model, "ModelProto", "");
  for (const auto& opset : model.opset_import()) check(opset, "OperatorSetIdProto", opset.domain());
}

// Of IR version 1: fields 3 and 4, and 6 to 9, which named the producer.
void check_fields(const ::onnx::GraphProto& graph) { check(graph, "GraphProto", graph.name(), {3, 4, 6, 7, 8, 9}); }

// Before IR version 8: since_version and status.
void check_fields(const ::onnx::FunctionProto& function) {
  check(function, "FunctionProto", function.name(), {2, 3});
  for (const auto& opset : function.opset_import()) check(opset, "OperatorSetIdProto", opset.domain());
}

void check_fields(const ::onnx::NodeProto& node) { check(node, "NodeProto", node.name()); }
void check_fields(const ::onnx::AttributeProto& attribute) { check(attribute, "AttributeProto", attribute.name()); }
void check_fields(const ::onnx::TensorProto& tensor) { check(tensor, "TensorProto", tensor.name()); }

void check_fields(const ::onnx::ValueInfoProto& value) {
  const std::string& name = value.name();
  check(value, "ValueInfoProto", name);
  check(value.type(), "TypeProto", name);
  check(value.type().tensor_type(), "TypeProto.Tensor", name);
  check(value.type().tensor_type().shape(), "TensorShapeProto", name);
  for (const auto& dimension : value.type().tensor_type().shape().dim())
    check(dimension, "TensorShapeProto.Dimension", name);
}

void check_ir_version(const ::onnx::ModelProto& model) {
  if (model.ir_version() > ::onnx::IR_VERSION || model.ir_version() < 0)
    fail("its IR version is %lld, the newest that is understood is %d: save it with an older onnx",
         static_cast<long long>(model.ir_version()), static_cast<int>(::onnx::IR_VERSION));
}

}  // namespace ferry::onnx
