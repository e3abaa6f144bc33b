#include "converter/checkpoint/quantized/method.h"

#include <cmath>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry::quantized {

using nlohmann::json;

namespace {

constexpr const char* kSupported =
    "fp8, fbgemm_fp8, modelopt with FP8, mxfp4, gptq, awq with version gemm, compressed-tensors with integers or 8-bit "
    "floats, and bitsandbytes with nf4, fp4 or int8";

const json* member(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

[[noreturn]] void wrong_type(const char* name, const json& value, const char* expected) {
  fail("%s: %s is %s, expected %s", kWhere, name, value.dump(-1, ' ', true, json::error_handler_t::replace).c_str(),
       expected);
}

}  // namespace

const CheckpointTensor* ModuleTensors::find(const std::string& key) const {
  const auto found = tensors.find(key);
  return found == tensors.end() ? nullptr : &found->second;
}

CheckpointTensor ModuleTensors::take(const std::string& key, const std::string& of) {
  const auto found = tensors.find(key);
  if (found == tensors.end())
    fail("%s is quantised, but the checkpoint has no %s", in_quotes(of).c_str(), in_quotes(key).c_str());
  CheckpointTensor tensor = std::move(found->second);
  tensors.erase(found);
  return tensor;
}

void ModuleTensors::add(const std::string& key, std::vector<int64_t> shape, std::span<const std::byte> bytes,
                        std::shared_ptr<const Encoding> encoding) {
  CheckpointTensor tensor{.type = ElementType::F32, .shape = std::move(shape), .bytes = bytes};
  tensor.encoding = std::move(encoding);
  if (!tensors.emplace(key, std::move(tensor)).second)
    fail("the checkpoint has %s both plain and quantised", in_quotes(key).c_str());
  ++weights;
}

std::vector<std::string> ModuleTensors::modules(std::string_view suffix) const {
  std::vector<std::string> out;
  for (const auto& [key, tensor] : tensors)
    if (key.ends_with(suffix)) out.push_back(key.substr(0, key.size() - suffix.size()));
  return out;
}

void unsupported(const std::string& what) {
  fail("%s: %s is not supported (supported: %s)", kWhere, what.c_str(), kSupported);
}

std::string text_member(const json& object, const char* name, const char* absent) {
  const json* found = member(object, name);
  if (found && !found->is_string()) wrong_type(name, *found, "a text");
  return found ? found->get<std::string>() : absent;
}

int64_t integer_member(const json& object, const char* name, int64_t absent) {
  const json* found = member(object, name);
  if (found && !found->is_number_integer()) wrong_type(name, *found, "an integer");
  return found ? found->get<int64_t>() : absent;
}

bool flag_member(const json& object, const char* name, bool absent) {
  const json* found = member(object, name);
  if (found && !found->is_boolean()) wrong_type(name, *found, "true or false");
  return found ? found->get<bool>() : absent;
}

void expect_shape(const std::string& key, const CheckpointTensor& tensor, const std::vector<int64_t>& shape,
                  const char* of) {
  if (tensor.shape != shape)
    fail("%s has shape %s, expected %s (%s)", in_quotes(key).c_str(), shape_text(tensor.shape).c_str(),
         shape_text(shape).c_str(), of);
}

void expect_matrix(const std::string& key, const CheckpointTensor& tensor) {
  if (tensor.shape.size() != 2 || tensor.elements() == 0)
    fail("%s has shape %s, expected two dimensions above 0", in_quotes(key).c_str(), shape_text(tensor.shape).c_str());
}

void expect_words(const std::string& key, const CheckpointTensor& tensor) {
  if (tensor.type != ElementType::I32 && tensor.type != ElementType::U32)
    fail("%s is %s, expected I32", in_quotes(key).c_str(), element_name(tensor.type));
}

void expect_scales(const std::string& key, const CheckpointTensor& tensor) {
  if (!is_float(tensor.type))
    fail("%s is %s: scales are floating-point", in_quotes(key).c_str(), element_name(tensor.type));
  if (tensor.elements() == 0) fail("%s has no elements", in_quotes(key).c_str());
  for (const float factor : tensor.to_floats())
    if (!std::isfinite(factor)) fail("%s has a scale that is not finite", in_quotes(key).c_str());
}

}  // namespace ferry::quantized
