#include <cmath>
#include <limits>

#include "sdk/api/handles.h"
#include "sdk/model/seeded.h"

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

// Failures of the C API that this file calls.
Status status_of(ferry_status code) { return code == FERRY_OK ? Status() : error(code, "%s", ferry_last_error()); }

struct CloseSession {
  void operator()(ferry_session* session) const { ferry_session_close(session); }
};

class Verifier {
 public:
  Verifier(ferry_model* model, const fbs::Certificate& certificate) : model_(model), certificate_(certificate) {}

  Status run(const ferry_session_options& options, ferry_verification* out) {
    FERRY_TRY(create(options));
    for (uint32_t i = 0; i < count(certificate_.inputs()); ++i)
      FERRY_TRY(write_input(i, *certificate_.inputs()->Get(i)));
    FERRY_TRY(status_of(ferry_session_run(session_.get())));
    ferry_report ran{};
    ran.struct_size = sizeof(ran);
    FERRY_TRY(status_of(ferry_session_report(session_.get(), &ran)));
    if (options.gpu_required && ran.gpu_status != FERRY_OK) return error(ran.gpu_status, "%s", ran.message);
    out->passed = true;
    double worst = -1;
    for (const fbs::CertificateStage* stage : *certificate_.stages()) {
      double error = 0;
      FERRY_TRY(measure(*stage, &error));
      const double bound = static_cast<double>(stage->bound()), share = error / bound;
      const bool good = error <= bound;
      if (out->passed && (!good || share > worst)) {
        worst = share;
        out->passed = good;
        out->stage = text(stage->name());
        out->error = error;
        out->bound = bound;
        out->error_at_conversion = static_cast<double>(stage->error());
      }
    }
    return {};
  }

 private:
  static Status misfit(const char* what, const char* name) {
    return error(FERRY_CORRUPT, "certificate: %s of '%.64s' do not fit the model", what, name);
  }

  // The output of that name; the model's count of outputs where there is none.
  uint32_t output(const char* name) const {
    const auto& outputs = *model_->model->graph().outputs();
    uint32_t i = 0;
    while (i < outputs.size() && std::strcmp(text(outputs.Get(i)->name()), name) != 0) ++i;
    return i;
  }

  Status create(ferry_session_options options) {
    const auto& graph = model_->model->graph();
    const uint32_t stages = count(certificate_.stages());
    if (stages == 0 || stages > ferry::kMaxPorts || count(certificate_.inputs()) != graph.inputs()->size())
      return error(FERRY_CORRUPT, "certificate: %u stages and %u inputs, expected stages and the model's %u inputs",
                   stages, count(certificate_.inputs()), graph.inputs()->size());
    const auto taps = std::make_unique<const char*[]>(stages);
    options.taps = taps.get();
    options.tap_count = 0;
    options.all_taps = false;
    options.graph = nullptr;   // this model's, which the certificate is of
    options.states = nullptr;  // empty ones
    for (const fbs::CertificateStage* stage : *certificate_.stages())
      if (const char* name = text(stage->name()); output(name) == graph.outputs()->size())
        taps[options.tap_count++] = name;
    ferry_session* session = nullptr;
    FERRY_TRY(status_of(ferry_session_create(model_, &options, &session)));
    session_.reset(session);
    return {};
  }

  Status write_input(uint32_t index, const fbs::CertificateInput& input) {
    ferry_tensor tensor;
    FERRY_TRY(status_of(ferry_model_input(model_, index, &tensor)));
    const char* name = tensor.name;
    if (count(input.shape()) != static_cast<uint32_t>(tensor.rank)) return misfit("the dimensions", name);
    if (!std::equal(tensor.shape, tensor.shape + tensor.rank, input.shape()->data()))
      FERRY_TRY(status_of(ferry_session_resize(session_.get(), index, input.shape()->data(), tensor.rank)));
    FERRY_TRY(status_of(ferry_session_input(session_.get(), index, &tensor)));
    const uint32_t values = count(input.values());
    if (tensor.dtype == FERRY_INT32) return write_ids(tensor, input);
    if (values > 0) return status_of(ferry_tensor_write_source(&tensor, input.values()->data(), values));
    if (tensor.rank != 4) return misfit("the values", name);
    ferry::seeded_pictures(input.seed(), tensor.shape[0], tensor.shape[3], tensor.shape[1], tensor.shape[2], true,
                           static_cast<float*>(tensor.data));
    return {};
  }

  // Integers are whole numbers among the certificate's.
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

  // The largest error of the stage's samples.
  Status measure(const fbs::CertificateStage& stage, double* out) const {
    const char* name = text(stage.name());
    ferry_tensor tensor;
    const uint32_t index = output(name);
    FERRY_TRY(status_of(index < model_->model->graph().outputs()->size()
                            ? ferry_session_output(session_.get(), index, &tensor)
                            : ferry_session_tap(session_.get(), name, &tensor)));
    const double absmax = static_cast<double>(stage.absmax()), bound = static_cast<double>(stage.bound());
    const auto usable = [](double v) { return v > 0 && std::isfinite(v); };  // an infinite one would pass anything
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
    return {};
  }

  ferry_model* model_;
  const fbs::Certificate& certificate_;
  std::unique_ptr<ferry_session, CloseSession> session_;
};

Status verify(ferry_model* model, const ferry_session_options* given, ferry_verification* out) {
  const fbs::Certificate* certificate = model->model->graph().certificate();
  if (certificate == nullptr)
    return error(FERRY_NOT_FOUND, "the model has no certificate: convert it with --certify FIXTURE");
  ferry_session_options options;
  FERRY_TRY(ferry::read_options(given, &options));
  options.struct_size = sizeof(options);
  if (options.precision == FERRY_PRECISION_FLOAT16)
    return error(FERRY_INVALID_ARGUMENT, "a certificate's bounds are for float32: verify with FERRY_PRECISION_FLOAT32");
  out->stage_count = count(certificate->stages());
  out->fixture = text(certificate->fixture());
  out->library = text(certificate->library());
  return Verifier(model, *certificate).run(options, out);
}

}  // namespace

ferry_status ferry_model_verify(ferry_model* model, const ferry_session_options* options, ferry_verification* out) {
  FERRY_REQUIRE(out);
  ferry_verification result{};
  result.stage = result.fixture = result.library = "";
  const auto give = [&] { return ferry::fill_versioned(result, sizeof(result), "ferry_verification", out); };
  if (const Status status = give(); !status.ok()) return report(status);
  FERRY_REQUIRE(model);
  return ferry::guarded([&] {
    const Status status = verify(model, options, &result);
    return status.ok() ? give() : status;
  });
}
