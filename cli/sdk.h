// The C API with owners and exceptions.
#pragma once

#include <ferry/ferry.h>
#include <ferry/image.h>

#include <memory>
#include <string>
#include <vector>

#include "converter/error.h"

namespace ferry::cli {

struct Close {
  void operator()(ferry_model* model) const { ferry_model_close(model); }
  void operator()(ferry_session* session) const { ferry_session_close(session); }
};
using ModelHandle = std::unique_ptr<ferry_model, Close>;
using SessionHandle = std::unique_ptr<ferry_session, Close>;

// Throws Error with the library's own sentence.
inline void check(ferry_status status) {
  if (status != FERRY_OK) throw Error(ferry_last_error());
}

ModelHandle open_model(const std::string& path);
SessionHandle create_session(const ModelHandle& model, const ferry_session_options& options);

// "cpu" is here; anything else is an error that says so.
void require_backend(const std::string& backend);

// The description's shape in the source framework's layout: [N,C,H,W] of [N,H,W,C].
std::vector<int64_t> source_shape(const ferry_tensor& tensor);
// The other way round; the same rank as `tensor`'s.
std::vector<int32_t> own_shape(const ferry_tensor& tensor, const std::vector<int64_t>& source);

const char* dtype_name(ferry_dtype dtype);

}  // namespace ferry::cli
