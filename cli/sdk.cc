#include "cli/sdk.h"

namespace ferry::cli {

ModelHandle open_model(const std::string& path) {
  ferry_model* model = nullptr;
  check(ferry_model_open(path.c_str(), &model));
  return ModelHandle(model);
}

SessionHandle create_session(const ModelHandle& model, const ferry_session_options& options) {
  ferry_session* session = nullptr;
  check(ferry_session_create(model.get(), &options, &session));
  return SessionHandle(session);
}

void require_backend(const std::string& backend) {
  if (backend == "gpu") fail("--backend gpu: this build has no GPU backend; use --backend cpu");
  if (backend != "cpu") fail("--backend %s: not a backend; use cpu", backend.c_str());
}

std::vector<int64_t> source_shape(const ferry_tensor& tensor) {
  std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.rank);
  if (tensor.source_layout == FERRY_LAYOUT_NCHW && shape.size() >= 3) {
    // channels from the end to the second place
    shape.insert(shape.begin() + 1, shape.back());
    shape.pop_back();
  }
  return shape;
}

std::vector<int32_t> own_shape(const ferry_tensor& tensor, const std::vector<int64_t>& source) {
  std::vector<int32_t> shape(source.begin(), source.end());
  if (tensor.source_layout == FERRY_LAYOUT_NCHW && shape.size() >= 3) {
    shape.push_back(shape[1]);
    shape.erase(shape.begin() + 1);
  }
  return shape;
}

const char* dtype_name(ferry_dtype dtype) {
  switch (dtype) {
    case FERRY_FLOAT32: return "float32";
    case FERRY_FLOAT16: return "float16";
    case FERRY_INT8: return "int8";
    case FERRY_UINT8: return "uint8";
    case FERRY_INT32: return "int32";
    case FERRY_INT64: return "int64";
  }
  return "unknown";
}

}  // namespace ferry::cli
