#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>

#include "sdk/api/handles.h"
#include "sdk/model/seeded.h"
#include "sdk/model/sha256.h"

namespace {

using ferry::error;
using ferry::report;
using ferry::Status;
using ferry::text;
namespace fbs = ferry::fbs;

template <typename T>
uint32_t count(const flatbuffers::Vector<T>* list) {
  return list != nullptr ? list->size() : 0;
}

// Converts failures of C API calls in this file.
Status status_of(ferry_status code) { return code == FERRY_OK ? Status() : error(code, "%s", ferry_last_error()); }

struct CloseSession {
  void operator()(ferry_session* session) const { ferry_session_close(session); }
};

// Runs the graphs that have certificates in the blob's order, and records their stages.
class Verifier {
 public:
  Verifier(ferry_model* model, const ferry_session_options& options, ferry_verification* out)
      : model_(model), options_(options), out_(*out) {
    options_.all_taps = false;
    options_.states = nullptr;          // use new, empty states
    options_.skip_weight_check = true;  // the stage with a damaged weight is found by its values
  }

  Status run() {
    const ferry::Model& blob = *model_->model;
    for (size_t i = 0; i < blob.graph_count(); ++i) {
      graph_ = i == 0 ? &blob.root() : blob.root().graphs()->Get(static_cast<uint32_t>(i - 1));
      if (graph_->certificate() == nullptr) continue;
      options_.graph = blob.graph_count() > 1 ? blob.graph_name(i) : nullptr;
      FERRY_TRY(run_graph(*graph_->certificate()));
      if (i == 0) root_ = std::move(session_);
    }
    if (out_.stage_count > 0) return {};
    return error(FERRY_NOT_FOUND, "the model has no certificate: convert it with --certify FIXTURE");
  }

 private:
  using Session = std::unique_ptr<ferry_session, CloseSession>;

  // Runs once with the stages kept as taps, and once without taps as apps do: other optimisations apply then.
  Status run_graph(const fbs::Certificate& certificate) {
    if (out_.stage_count == 0) {
      out_.passed = true;
      out_.fixture = text(certificate.fixture());
      out_.library = text(certificate.library());
    }
    for (const bool keeps : {true, false}) {
      FERRY_TRY(create(certificate, keeps));
      FERRY_TRY(write_inputs(*certificate.inputs()));
      FERRY_TRY(status_of(ferry_session_run(session_.get())));
      ferry_report ran{};
      ran.struct_size = sizeof(ran);
      FERRY_TRY(status_of(ferry_session_report(session_.get(), &ran)));
      if (options_.gpu_required && ran.gpu_status != FERRY_OK) return error(ran.gpu_status, "%s", ran.message);
      for (const fbs::CertificateStage* stage : *certificate.stages())
        if (keeps || is_output(*stage)) FERRY_TRY(note(*stage));
      if (options_.tap_count == 0) break;  // no taps: both runs are the same
    }
    out_.stage_count += count(certificate.stages());
    return {};
  }

  Status note(const fbs::CertificateStage& stage) {
    double error = 0;
    FERRY_TRY(measure(stage, &error));
    const double bound = static_cast<double>(stage.bound());
    const bool good = error <= bound;
    // The comparison is negated so that the first stage, with 0 / 0 = NaN, is recorded too.
    if (out_.passed && (!good || !(error / bound <= out_.error / out_.bound))) {
      out_.passed = good;
      out_.graph = text(graph_->name());
      out_.stage = text(stage.name());
      out_.error = error;
      out_.bound = bound;
      out_.error_at_conversion = static_cast<double>(stage.error());
    }
    return {};
  }

  static Status misfit(const char* what, const char* name) {
    return error(FERRY_CORRUPT, "certificate: %s of '%.64s' do not fit the model", what, name);
  }

  // Index of the output of that name; the number of outputs if there is none.
  static uint32_t output(const fbs::Graph& graph, const char* name) {
    const auto& outputs = *graph.outputs();
    uint32_t i = 0;
    while (i < outputs.size() && std::strcmp(text(outputs.Get(i)->name()), name) != 0) ++i;
    return i;
  }

  bool is_output(const fbs::CertificateStage& stage) const {
    return output(*graph_, text(stage.name())) < graph_->outputs()->size();
  }

  Status create(const fbs::Certificate& certificate, bool keeps) {
    const uint32_t stages = count(certificate.stages()), inputs = graph_->inputs()->size();
    if (stages == 0 || stages > ferry::kMaxPorts || count(certificate.inputs()) != inputs)
      return error(FERRY_CORRUPT, "certificate: %u stages and %u inputs, expected stages and the model's %u inputs",
                   stages, count(certificate.inputs()), inputs);
    const auto taps = std::make_unique<const char*[]>(stages);
    options_.taps = taps.get();
    options_.tap_count = 0;
    for (const fbs::CertificateStage* stage : *certificate.stages())
      if (keeps && !is_output(*stage)) taps[options_.tap_count++] = text(stage->name());
    ferry_session* session = nullptr;
    FERRY_TRY(status_of(ferry_session_create(model_, &options_, &session)));
    session_.reset(session);
    return {};
  }

  // Sets all shapes at once, because inputs' shapes may depend on each other.
  Status write_inputs(const flatbuffers::Vector<flatbuffers::Offset<fbs::CertificateInput>>& inputs) {
    const auto tensors = std::make_unique<ferry_tensor[]>(inputs.size());
    bool resized = false;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      ferry_tensor& tensor = tensors[i];
      const auto* shape = inputs.Get(i)->shape();
      FERRY_TRY(status_of(ferry_session_input(session_.get(), i, &tensor)));
      if (count(shape) != static_cast<uint32_t>(tensor.rank)) return misfit("the dimensions", tensor.name);
      for (uint32_t d = 0; d < count(shape); ++d) {
        resized = resized || tensor.shape[d] != shape->Get(d);
        tensor.shape[d] = shape->Get(d);
      }
    }
    if (resized) FERRY_TRY(status_of(ferry_session_resize_inputs(session_.get(), tensors.get(), inputs.size())));
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      FERRY_TRY(status_of(ferry_session_input(session_.get(), i, &tensors[i])));
      FERRY_TRY(write_input(*inputs.Get(i), tensors[i]));
    }
    return {};
  }

  Status write_input(const fbs::CertificateInput& input, const ferry_tensor& tensor) {
    const uint32_t values = count(input.values());
    if (input.from() != nullptr)
      return values == 0 ? copy(input.from()->c_str(), tensor) : misfit("the values", tensor.name);
    if (tensor.dtype == FERRY_INT32) return write_ids(tensor, input);
    float* data = static_cast<float*>(tensor.data);
    if (values == 1) {
      std::fill_n(data, tensor.bytes / sizeof(float), input.values()->Get(0));
      return {};
    }
    if (values > 0) return status_of(ferry_tensor_write_source(&tensor, input.values()->data(), values));
    if (tensor.rank != 4) return misfit("the values", tensor.name);
    ferry::seeded_images(input.seed(), tensor.shape[0], tensor.shape[3], tensor.shape[1], tensor.shape[2], true, data);
    return {};
  }

  // Copies an output of the root graph.
  Status copy(const char* from, const ferry_tensor& tensor) const {
    ferry_tensor given{};
    if (root_ == nullptr ||
        ferry_session_output(root_.get(), output(model_->model->root(), from), &given) != FERRY_OK ||
        given.dtype != tensor.dtype || given.rank != tensor.rank ||
        !std::equal(given.shape, given.shape + given.rank, tensor.shape))
      return misfit("the values", tensor.name);
    std::memcpy(tensor.data, given.data, tensor.bytes);
    return {};
  }

  // The certificate stores integers as float values.
  static Status write_ids(const ferry_tensor& tensor, const fbs::CertificateInput& input) {
    int32_t* ids = static_cast<int32_t*>(tensor.data);
    const uint32_t values = count(input.values());
    if (values != tensor.bytes / sizeof(int32_t)) return misfit("the values", tensor.name);
    for (uint32_t i = 0; i < values; ++i) {
      const float value = input.values()->Get(i);
      if (!(std::fabs(value) < 0x1p24f)) return misfit("the values", tensor.name);
      ids[i] = static_cast<int32_t>(value);
    }
    return {};
  }

  // Maximum absolute error of the stage's samples.
  Status measure(const fbs::CertificateStage& stage, double* out) const {
    const char* name = text(stage.name());
    ferry_tensor tensor;
    const uint32_t index = output(*graph_, name);
    FERRY_TRY(status_of(index < graph_->outputs()->size() ? ferry_session_output(session_.get(), index, &tensor)
                                                          : ferry_session_tap(session_.get(), name, &tensor)));
    const double absmax = static_cast<double>(stage.absmax()), bound = static_cast<double>(stage.bound());
    const auto usable = [](double v) { return v > 0 && std::isfinite(v); };  // an infinite bound would accept any value
    if (count(stage.samples()) == 0 || tensor.dtype != FERRY_FLOAT32 || !usable(absmax) || !usable(bound))
      return misfit("the samples", name);
    const uint64_t elements = tensor.bytes / sizeof(float);
    const bool channels_first = tensor.source_layout == FERRY_LAYOUT_NCHW && tensor.rank == 4;
    const uint64_t channels = channels_first ? static_cast<uint64_t>(tensor.shape[3]) : 1;
    const uint64_t area =
        channels_first ? static_cast<uint64_t>(tensor.shape[1]) * static_cast<uint64_t>(tensor.shape[2]) : 1;
    const char* entry = text(stage.entry());
    const ferry::Stream places = *entry != 0 ? ferry::sample_stream(entry) : ferry::sample_stream(name, "tap/");
    for (uint32_t i = 0; i < count(stage.samples()); ++i) {
      uint64_t at = places.bits(i) % elements;
      if (channels_first) at = (at / area / channels * area + at % area) * channels + at / area % channels;
      const double difference = static_cast<double>(static_cast<const float*>(tensor.data)[at]) -
                                static_cast<double>(stage.samples()->Get(i));
      const double size = std::fabs(difference) / absmax;
      *out = std::isnan(size) ? std::numeric_limits<double>::infinity() : std::max(*out, size);
    }
    if (stage.sha256() != nullptr && !has_hash(tensor, stage.sha256()->c_str()))
      *out = std::numeric_limits<double>::infinity();
    return {};
  }

  // Whether a tensor's bytes have this SHA-256.
  static bool has_hash(const ferry_tensor& tensor, const char* hash) {
    char digits[65];
    size_t length = 0;
    for (const uint32_t word : ferry::sha256_of({static_cast<const std::byte*>(tensor.data), tensor.bytes}))
      length += static_cast<size_t>(std::snprintf(digits + length, sizeof digits - length, "%08x", word));
    return std::strcmp(digits, hash) == 0;
  }

  ferry_model* model_;
  ferry_session_options options_;
  ferry_verification& out_;
  const fbs::Graph* graph_ = nullptr;
  Session root_, session_;  // of the root graph, which runs first; of graph_
};

Status verify(ferry_model* model, const ferry_session_options* given, ferry_verification* out) {
  ferry_session_options options;
  FERRY_TRY(ferry::read_options(given, &options));
  options.struct_size = sizeof(options);
  if (options.precision == FERRY_PRECISION_FLOAT16)
    return error(FERRY_INVALID_ARGUMENT, "a certificate's bounds are for float32: verify with FERRY_PRECISION_FLOAT32");
  return Verifier(model, options, out).run();
}

}  // namespace

ferry_status ferry_model_verify(ferry_model* model, const ferry_session_options* options, ferry_verification* out) {
  FERRY_REQUIRE(out);
  ferry_verification result{};
  result.graph = result.stage = result.fixture = result.library = "";
  constexpr size_t kFirst = offsetof(ferry_verification, library) + sizeof(const char*);
  const auto give = [&] { return ferry::fill_versioned(result, kFirst, "ferry_verification", out); };
  if (const Status status = give(); !status.ok()) return report(status);
  FERRY_REQUIRE(model);
  return ferry::guarded([&] {
    const Status status = verify(model, options, &result);
    return status.ok() ? give() : status;
  });
}
