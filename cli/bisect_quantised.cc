#include "cli/bisect_quantised.h"

#include <algorithm>
#include <cmath>

#include "cli/command.h"
#include "cli/print.h"
#include "cli/samples.h"
#include "converter/graph/from_blob.h"
#include "converter/quantize/compute_on_integers.h"
#include "converter/quantize/faults.h"
#include "sdk/api/handles.h"

namespace ferry::cli {
namespace {

std::string decibel(double value) { return std::isinf(value) ? "exact" : printed("%.1f dB", value); }

// Equalised channels have other values than the float network's.
bool is_equalised(const fbs::GraphT& graph) {
  return graph.provenance && std::any_of(graph.provenance->options.begin(), graph.provenance->options.end(),
                                         [](const std::string& option) { return option == "--equalised"; });
}

}  // namespace

int bisect_quantised(const std::string& blob, const std::string& float_blob, const std::vector<std::string>& images,
                     const ThreadOptions& threads) {
  if (images.empty()) fail("expected --images: the operators of %s are compared on one of them", blob.c_str());
  const ModelHandle model = open_model(blob), real = open_model(float_blob);
  const std::unique_ptr<Graph> quantised = graph_of(model->model), graph = graph_of(real->model);
  if (!int8::has_int8_activations(quantised->table)) fail("%s does not compute on Int8", blob.c_str());
  if (int8::has_int8_activations(graph->table))
    fail("%s is quantised: expected the float blob that %s was made from", float_blob.c_str(), blob.c_str());
  if (is_equalised(quantised->table))
    fail("%s has equalised channels, whose values are not those of %s: its operators cannot be compared", blob.c_str(),
         float_blob.c_str());
  std::vector<std::string> notes;
  const std::vector<int8::Sample> samples = load_samples(real, images, &notes);
  if (samples.empty()) fail("%s", notes.empty() ? "--images: no image was found" : notes.front().c_str());
  const int8::FaultReport report = int8::find_faults(*graph, *quantised, samples.front(), threads.count);
  print("%-32s %-10s %10s %10s %10s\n", "operator", "kind", "local", "expected", "carried");
  for (const int8::Examined& row : report.operators)
    print("%-32.32s %-10.10s %10s %10s %10s%s\n", row.name.c_str(), row.kind.c_str(), decibel(row.local).c_str(),
          decibel(row.expected).c_str(), decibel(row.carried).c_str(), row.faulty ? "  <-" : "");
  print(
      "\nlocal: SQNR of the operator on the float network's values. expected: of the same operator, quantised from\n"
      "the float network. carried: in the quantised network.\n\n");
  if (!report.first) {
    print("no operator has more than its expected error\n");
    return kDone;
  }
  const int8::Examined& first = report.operators[*report.first];
  print("first fault  %s (%s): %s, %s are expected\n", first.name.c_str(), first.kind.c_str(),
        decibel(first.local).c_str(), decibel(first.expected).c_str());
  print("cause        %s\n", first.cause.empty() ? "none of the known ones" : first.cause.c_str());
  return kCheckFailed;
}

}  // namespace ferry::cli
