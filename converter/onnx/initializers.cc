#include "converter/onnx/initializers.h"

#include <optional>
#include <utility>

#include "converter/checkpoint/mapped_file.h"
#include "converter/checkpoint/sha256.h"
#include "converter/onnx/model.h"

namespace ferry::onnx {

namespace {

std::optional<ElementType> element_type(Type type) {
  switch (type) {
    case Type::Float32: return ElementType::F32;
    case Type::Float64: return ElementType::F64;
    case Type::Float16: return ElementType::F16;
    case Type::BFloat16: return ElementType::BF16;
    default: return {};
  }
}

class Initializers : public Checkpoint {
 public:
  explicit Initializers(const std::filesystem::path& path) : model_(read_model(path)) {
    for (const auto& [name, array] : model_.constants) {
      const std::optional<ElementType> type = element_type(array.type);
      if (!type) continue;
      held_.push_back(array.data.read());
      tensors_[name] = {.type = *type, .shape = array.dims, .bytes = held_.back().bytes};
    }
  }

  const std::map<std::string, CheckpointTensor>& tensors() const override { return tensors_; }
  const char* format() const override { return "ONNX"; }
  std::string sha256() const override { return sha256_hex(MappedFile::open(model_.path)->bytes()); }
  const std::filesystem::path& path() const override { return model_.path; }

 private:
  Model model_;
  std::vector<Constant> held_;  // keeps the tensors' bytes
  std::map<std::string, CheckpointTensor> tensors_;
};

}  // namespace

std::shared_ptr<const Checkpoint> open_initializers(const std::filesystem::path& path) {
  return std::make_shared<Initializers>(path);
}

}  // namespace ferry::onnx
