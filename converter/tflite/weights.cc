#include "converter/tflite/weights.h"

#include "converter/checkpoint/sha256.h"
#include "converter/error.h"
#include "converter/tflite/constants.h"

namespace ferry::tflite {
namespace {

class Constants : public Checkpoint {
 public:
  Constants(const std::filesystem::path& path, const std::string& network) : file_(open_file(path, network)) {
    for (unsigned i = 0; i < count(file_.graph->tensors()); ++i) {
      const auto index = static_cast<int>(i);
      const schema::Tensor& tensor = file_.tensor(index);
      const bool is_half = tensor.type() == schema::TensorType::FLOAT16;
      if (tensor.type() != schema::TensorType::FLOAT32 && !is_half) continue;
      const std::span<const std::byte> bytes = file_.bytes(index);
      if (bytes.empty() || tensor.sparsity() != nullptr) continue;
      const Shape shape = shape_of(tensor);
      CheckpointTensor& held = tensors_[file_.tensor_name(index)];
      held.type = is_half ? ElementType::F16 : ElementType::F32;
      held.shape.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
      held.bytes = bytes;
      if (static_cast<size_t>(shape.elements()) * element_size(held.type) != bytes.size())
        fail("'%s' of shape %s has %zu bytes", file_.tensor_name(index).c_str(), to_string(shape).c_str(),
             bytes.size());
    }
  }

  const std::map<std::string, CheckpointTensor>& tensors() const override { return tensors_; }
  const char* format() const override { return "TensorFlow Lite"; }
  std::string sha256() const override { return sha256_hex(file_.mapped->bytes()); }
  const std::filesystem::path& path() const override { return file_.mapped->path(); }

 private:
  tflite::File file_;
  std::map<std::string, CheckpointTensor> tensors_;
};

}  // namespace

std::shared_ptr<const Checkpoint> open_constants(const std::filesystem::path& path, const std::string& network) {
  return std::make_shared<Constants>(path, network);
}

}  // namespace ferry::tflite
