// Verifies certificates in blobs.
#include <cmath>

#include "converter/graph/graph.h"
#include "tests/fuzz/blob_mutator.h"
#include "tests/fuzz/use_model.h"

FERRY_FUZZ(certificate) {
  const Aligned blob(bytes);
  ferry_model* model = nullptr;
  if (ferry_model_open_memory(blob.data(), blob.size(), &model) != FERRY_OK) return;
  const ferry_session_options options = small_options();
  ferry_verification verification{};
  verification.struct_size = sizeof verification;
  if (ferry_model_verify(model, &options, &verification) == FERRY_OK) {
    require(verification.stage != nullptr && verification.graph != nullptr && verification.bound >= 0 &&
                std::isfinite(verification.bound),
            "a certificate that verifies whatever is computed");
    require(verification.passed == (verification.error <= verification.bound),
            "a verdict that is not the measurement's");
  }
  ferry_model_close(model);
}

#if defined(FERRY_LIBFUZZER)
namespace {

void mutate_certificate(ferry::fbs::GraphT& graph, ferry::fuzz::Random& random) {
  using namespace ferry;
  const std::vector<fbs::GraphT*> graphs = tables_of(graph);
  fbs::GraphT& one = *graphs[random.below(graphs.size())];
  if (one.certificate == nullptr || random.below(6) == 0) return fuzz::mutate_graph(graph, random);
  auto& certificate = *one.certificate;
  switch (random.below(4)) {
    case 0: return fuzz::mutate_table<fbs::Certificate>(certificate, random);
    case 1: {
      if (certificate.inputs.empty()) return;
      auto& input = *certificate.inputs[random.below(certificate.inputs.size())];
      if (random.below(3) > 0) return fuzz::mutate_table<fbs::CertificateInput>(input, random);
      const auto& outputs = graphs[random.below(graphs.size())]->outputs;
      if (!outputs.empty()) input.from = outputs[random.below(outputs.size())]->name;
      return;
    }
    default:
      if (!certificate.stages.empty())
        fuzz::mutate_table<fbs::CertificateStage>(*certificate.stages[random.below(certificate.stages.size())], random);
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maximum, unsigned seed) {
  return ferry::fuzz::mutate_blob(data, size, maximum, seed, mutate_certificate);
}
#endif
