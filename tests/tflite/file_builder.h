// Writes .tflite files of a few operators, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "converter/tflite/file.h"

namespace ferry::testing {

namespace schema = ferry::tflite::schema;

// `count` values on [low, high), the same on every host.
inline std::vector<float> random_values(size_t count, uint32_t seed, float low = -1, float high = 1) {
  std::vector<float> values;
  for (uint32_t state = seed * 2654435761u + 12345; values.size() < count;) {
    state = state * 1103515245u + 12345u;
    values.push_back(low + (high - low) * static_cast<float>(state >> 16) / 65536.0f);
  }
  return values;
}

class FileBuilder {
 public:
  using Shape = std::vector<int32_t>;
  using Type = schema::TensorType;

  static size_t elements(const Shape& shape) {
    return static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>()));
  }

  FileBuilder() { buffers_.push_back(schema::CreateBuffer(fbb)); }

  flatbuffers::FlatBufferBuilder fbb;  // to create options

  // Each returns the index of a tensor.
  int input(const Shape& shape, Type type = Type::FLOAT32,
            flatbuffers::Offset<schema::QuantizationParameters> quantization = 0) {
    inputs_.push_back(tensor(shape, type, 0, "in" + std::to_string(inputs_.size()), quantization));
    return inputs_.back();
  }
  int constant(const Shape& shape, const std::vector<float>& values) {
    return constant_of(shape, Type::FLOAT32, values);
  }
  int constant(const Shape& shape, const std::vector<int32_t>& values) {
    return constant_of(shape, Type::INT32, values);
  }
  int random(const Shape& shape, uint32_t seed) { return constant(shape, random_values(elements(shape), seed)); }
  int vector(const std::vector<int32_t>& values) { return constant({static_cast<int32_t>(values.size())}, values); }
  int scalar(int32_t value) { return constant({}, std::vector<int32_t>{value}); }
  template <typename T>
  int constant_of(const Shape& shape, Type type, const std::vector<T>& values,
                  flatbuffers::Offset<schema::QuantizationParameters> quantization = 0,
                  flatbuffers::Offset<schema::SparsityParameters> sparsity = 0) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    buffers_.push_back(schema::CreateBuffer(fbb, fbb.CreateVector(bytes, values.size() * sizeof(T))));
    return tensor(shape, type, static_cast<uint32_t>(buffers_.size() - 1), "c" + std::to_string(tensors_.size()),
                  quantization, sparsity);
  }
  int activation(const Shape& shape, Type type = Type::FLOAT32,
                 flatbuffers::Offset<schema::QuantizationParameters> quantization = 0) {
    return tensor(shape, type, 0, "t" + std::to_string(activations_++), quantization);
  }

  // A state that the interpreter keeps between runs.
  int variable(const Shape& shape) {
    tensors_.push_back(schema::CreateTensor(fbb, fbb.CreateVector(shape), Type::FLOAT32, 0,
                                            fbb.CreateString("v" + std::to_string(tensors_.size())), 0, true));
    return static_cast<int>(tensors_.size()) - 1;
  }
  // Scales and zero points, per tensor or along `axis`.
  flatbuffers::Offset<schema::QuantizationParameters> scale(const std::vector<float>& scales,
                                                            const std::vector<int64_t>& zeros = {}, int axis = 0) {
    return schema::CreateQuantizationParameters(fbb, 0, 0, fbb.CreateVector(scales), fbb.CreateVector(zeros),
                                                schema::QuantizationDetails::NONE, 0, axis);
  }

  // `outputs`: activations. Options: CreateXOptions(b.fbb, ...).Union(), of the type `kind`.
  void op(schema::BuiltinOperator code, const std::vector<int>& inputs, const std::vector<int>& outputs,
          schema::BuiltinOptions kind = schema::BuiltinOptions::NONE, flatbuffers::Offset<void> options = 0,
          int version = 1) {
    const auto old = static_cast<int8_t>(std::min(static_cast<int>(code), 127));
    codes_.push_back(schema::CreateOperatorCode(fbb, old, 0, version, code));
    operators_.push_back(schema::CreateOperator(fbb, static_cast<uint32_t>(codes_.size() - 1), fbb.CreateVector(inputs),
                                                fbb.CreateVector(outputs), kind, options));
  }
  // STABLEHLO_COMPOSITE, of a later version of the schema: runs a subgraph.
  void composite(const std::vector<int>& inputs, const std::vector<int>& outputs, int32_t number) {
    constexpr int kComposite = 206;
    codes_.push_back(schema::CreateOperatorCode(fbb, 127, 0, 1, static_cast<schema::BuiltinOperator>(kComposite)));
    const auto in = fbb.CreateVector(inputs), out = fbb.CreateVector(outputs);
    auto table = fbb.StartTable();
    fbb.AddElement<int32_t>(6, number, 0);  // decomposition_subgraph_index
    const flatbuffers::Offset<void> options(fbb.EndTable(table));
    table = fbb.StartTable();
    fbb.AddElement<uint32_t>(4, static_cast<uint32_t>(codes_.size() - 1), 0);
    fbb.AddOffset(6, in);
    fbb.AddOffset(8, out);
    fbb.AddElement<uint8_t>(26, 21, 0);  // builtin_options_2_type: StableHLOCompositeOptions
    fbb.AddOffset(28, options);
    operators_.emplace_back(fbb.EndTable(table));
  }
  void custom(const std::string& name, const std::vector<int>& inputs, const std::vector<int>& outputs,
              const std::vector<uint8_t>& options, int version = 1) {
    const auto code = schema::BuiltinOperator::CUSTOM;
    codes_.push_back(schema::CreateOperatorCode(fbb, static_cast<int8_t>(code), fbb.CreateString(name), version, code));
    operators_.push_back(schema::CreateOperator(fbb, static_cast<uint32_t>(codes_.size() - 1), fbb.CreateVector(inputs),
                                                fbb.CreateVector(outputs), schema::BuiltinOptions::NONE, 0,
                                                fbb.CreateVector(options)));
  }
  void signature(const std::string& input, const std::string& output, int output_tensor,
                 const std::string& key = "serving_default", uint32_t subgraph = 0) {
    const auto in = schema::CreateTensorMap(fbb, fbb.CreateString(input), static_cast<uint32_t>(inputs_[0]));
    const auto out = schema::CreateTensorMap(fbb, fbb.CreateString(output), static_cast<uint32_t>(output_tensor));
    signatures_.push_back(schema::CreateSignatureDef(fbb, fbb.CreateVector(&in, 1), fbb.CreateVector(&out, 1),
                                                     fbb.CreateString(key), subgraph));
  }

  // Makes what was added a subgraph that follows the one of finish().
  void end_subgraph(const std::vector<int>& outputs) {
    others_.push_back(subgraph(outputs));
    tensors_.clear();
    inputs_.clear();
    operators_.clear();
  }
  // TensorFlow Lite's metadata: a flatbuffer.
  void metadata(const flatbuffers::FlatBufferBuilder& of) {
    buffers_.push_back(schema::CreateBuffer(fbb, fbb.CreateVector(of.GetBufferPointer(), of.GetSize())));
    metadata_.push_back(
        schema::CreateMetadata(fbb, fbb.CreateString("TFLITE_METADATA"), static_cast<uint32_t>(buffers_.size() - 1)));
  }
  // The bytes of the file.
  std::string finish(const std::vector<int>& outputs) {
    std::vector<flatbuffers::Offset<schema::SubGraph>> graphs = {subgraph(outputs)};
    graphs.insert(graphs.end(), others_.begin(), others_.end());
    const auto model = schema::CreateModel(fbb, 3, fbb.CreateVector(codes_), fbb.CreateVector(graphs),
                                           fbb.CreateString("tests/tflite"), fbb.CreateVector(buffers_), 0,
                                           fbb.CreateVector(metadata_), fbb.CreateVector(signatures_));
    schema::FinishModelBuffer(fbb, model);
    return {reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()};
  }

 private:
  flatbuffers::Offset<schema::SubGraph> subgraph(const std::vector<int>& outputs) {
    return schema::CreateSubGraph(fbb, fbb.CreateVector(tensors_), fbb.CreateVector(inputs_), fbb.CreateVector(outputs),
                                  fbb.CreateVector(operators_));
  }
  int tensor(const Shape& shape, Type type, uint32_t buffer, const std::string& name,
             flatbuffers::Offset<schema::QuantizationParameters> quantization = 0,
             flatbuffers::Offset<schema::SparsityParameters> sparsity = 0) {
    tensors_.push_back(schema::CreateTensor(fbb, fbb.CreateVector(shape), type, buffer, fbb.CreateString(name),
                                            quantization, false, sparsity));
    return static_cast<int>(tensors_.size()) - 1;
  }

  std::vector<flatbuffers::Offset<schema::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<schema::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<schema::SubGraph>> others_;
  std::vector<flatbuffers::Offset<schema::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<schema::Operator>> operators_;
  std::vector<flatbuffers::Offset<schema::SignatureDef>> signatures_;
  std::vector<flatbuffers::Offset<schema::Metadata>> metadata_;
  std::vector<int> inputs_;
  int activations_ = 0;  // names them, whatever the order of evaluation of the arguments that make other tensors
};

}  // namespace ferry::testing
