#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/run.h"
#include "cli/text.h"
#include "converter/checkpoint/safetensors.h"

namespace ferry::cli {
namespace {

using Tensors = std::map<std::string, CheckpointTensor>;

std::string names_in(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    names.push_back(name);
    if (names.size() == 12) {
      names.push_back("...");
      break;
    }
  }
  return names.empty() ? "nothing" : join(names, ", ");
}

// The tensor called `name` or `input/<name>`; of one tensor and one input, that one.
const CheckpointTensor& find_input(const std::string& file, const Tensors& tensors, const std::string& name,
                                   size_t inputs) {
  for (const std::string& key : {name, "input/" + name}) {
    if (const auto found = tensors.find(key); found != tensors.end()) return found->second;
  }
  if (inputs == 1 && tensors.size() == 1) return tensors.begin()->second;
  fail("%s has no tensor '%s', which is an input of the model; it contains %s", file.c_str(), name.c_str(),
       names_in(tensors).c_str());
}

// Resizes all inputs at once, because their shapes may depend on each other.
void resize(const RunOptions& o, const SessionHandle& session, const std::vector<const CheckpointTensor*>& given) {
  std::vector<ferry_tensor> inputs(given.size());
  std::string mismatches;
  for (size_t i = 0; i < given.size(); ++i) {
    check(ferry_session_input(session.get(), i, &inputs[i]));
    const std::vector<int64_t>&shape = given[i]->shape, wanted = source_shape(inputs[i]);
    if (shape == wanted) continue;
    mismatches += (mismatches.empty() ? "" : ", ") + ("input '" + std::string(inputs[i].name) + "' is ") +
                  shape_text(shape) + ", the model takes " + shape_text(wanted);
    const bool possible = shape.size() == wanted.size() &&
                          std::all_of(shape.begin(), shape.end(), [](int64_t d) { return d >= 1 && d <= INT32_MAX; });
    if (!possible) fail("%s: %s", o.tensors.c_str(), mismatches.c_str());
    const std::vector<int32_t> own = own_shape(inputs[i], shape);
    std::copy(own.begin(), own.end(), inputs[i].shape);
  }
  if (!mismatches.empty() && ferry_session_resize_inputs(session.get(), inputs.data(), inputs.size()) != FERRY_OK)
    fail("%s: %s and cannot be planned for another: %s", o.tensors.c_str(), mismatches.c_str(), ferry_last_error());
}

void write_input(const RunOptions& o, const SessionHandle& session, size_t index, const CheckpointTensor& given) {
  ferry_tensor input;
  check(ferry_session_input(session.get(), index, &input));
  if (input.dtype != FERRY_INT32) {
    const std::vector<float> values = given.to_floats();
    return check(ferry_tensor_write_source(&input, values.data(), values.size()));
  }
  std::vector<int32_t> values;
  for (const double value : given.to_doubles()) {
    if (value != std::trunc(value) || std::fabs(value) >= 0x1p31)
      fail("%s: input '%s' has an element of %g, the model accepts 32-bit integers", o.tensors.c_str(), input.name,
           value);
    values.push_back(static_cast<int32_t>(value));
  }
  check(ferry_tensor_write_source_int32(&input, values.data(), values.size()));
}

// The tensors to write, with their values.
class Results {
 public:
  void add(const std::string& name, const ferry_tensor& tensor) {
    if (tensor.dtype == FERRY_INT32) {
      std::vector<int32_t>& ints = ints_.emplace_back(tensor.bytes / sizeof(int32_t));
      check(ferry_tensor_read_source_int32(&tensor, ints.data(), ints.size()));
      return put(name, source_shape(tensor), ElementType::I32, std::as_bytes(std::span(ints)));
    }
    std::vector<float>& values = values_.emplace_back(tensor.bytes / sizeof(float));
    check(ferry_tensor_read_source(&tensor, values.data(), values.size()));
    put(name, source_shape(tensor), ElementType::F32, std::as_bytes(std::span(values)));
  }
  void add(const std::string& name, std::vector<float> values) {
    values_.push_back(std::move(values));
    put(name, {static_cast<int64_t>(values_.back().size())}, ElementType::F32,
        std::as_bytes(std::span(values_.back())));
  }
  const Tensors& tensors() const { return tensors_; }

 private:
  void put(const std::string& name, std::vector<int64_t> shape, ElementType type, std::span<const std::byte> bytes) {
    tensors_[name] = {type, std::move(shape), bytes};
  }

  std::vector<std::vector<float>> values_;  // moving a vector keeps the addresses of its elements
  std::vector<std::vector<int32_t>> ints_;
  Tensors tensors_;
};

std::string tap_key(const std::string& name) {
  return name == "features" || name == "pooled" || name.starts_with("feat/") ? name : "tap/" + name;
}

}  // namespace

void save_results(const RunOptions& o, const ModelHandle& model, ferry_session* session,
                  const std::vector<float>& embedding) {
  Results results;
  ferry_tensor t;
  if (o.taps) {
    for (size_t i = 0; i < ferry_model_tap_count(model.get()); ++i) {
      check(ferry_model_tap(model.get(), i, &t));
      check(ferry_session_tap(session, t.name, &t));
      results.add(tap_key(t.name), t);
    }
  }
  for (size_t i = 0; i < ferry_model_output_count(model.get()); ++i) {
    check(ferry_session_output(session, i, &t));
    results.add(t.name, t);
  }
  // It may be the output scaled to unit length.
  if (!embedding.empty()) results.add("embedding", embedding);
  write_safetensors(o.save, results.tensors());
  print("%s: %zu tensors\n", o.save.c_str(), results.tensors().size());
}

int run_tensors(const RunOptions& o, const ModelHandle& model, const SessionHandle& session, const PackedCache& cache) {
  const std::shared_ptr<const Checkpoint> file = open_checkpoint(o.tensors);
  const size_t inputs = ferry_model_input_count(model.get());
  std::vector<const CheckpointTensor*> given;
  for (size_t i = 0; i < inputs; ++i) {
    ferry_tensor input;
    check(ferry_model_input(model.get(), i, &input));
    given.push_back(&find_input(o.tensors, file->tensors(), input.name, inputs));
  }
  resize(o, session, given);
  for (size_t i = 0; i < inputs; ++i) write_input(o, session, i, *given[i]);
  check(ferry_session_run(session.get()));
  cache.finish_check(model);
  save_results(o, model, session.get());
  return kDone;
}

}  // namespace ferry::cli
