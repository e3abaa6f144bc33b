#include "converter/convert.h"

#include <string>

#include "converter/error.h"
#include "converter/export/record.h"
#include "converter/provenance.h"
#include "converter/quantize/certificate.h"
#include "converter/quantize/compute_on_integers.h"
#include "converter/quantize/keys_and_values.h"
#include "converter/quantize/quantize.h"
#include "converter/quantize/quantize_by_text.h"
#include "converter/text/text_samples.h"
#include "sdk/model/mapping.h"

namespace ferry {
namespace {

void step(const ConvertOptions& options, const char* what, double fraction) {
  if (options.progress) options.progress(what, fraction);
}

// A checkpoint cannot be restored from integers with scales.
bool keeps_values(const std::string& weights) { return weights != "i8" && weights != "i4"; }

// Whether it is one graph with Int8 activations: the integer reference certifies those.
bool computes_on_integers(const Graph& graph) {
  return graph.table.graphs.empty() && graph.table.states.empty() && int8::has_int8_activations(graph.table);
}

// The blob's graphs. The first has the provenance.
ImportedNetwork import(Families families, const ConvertOptions& options) {
  const Settings& given = options.settings;
  check_values(given, families);
  const Source& source = source_of(options.checkpoint);
  check_options(source, options.checkpoint, given);
  if (const std::string weights = value_of(given, "weights"); given.has("exportable") && !keeps_values(weights))
    fail("--exportable: not with --weights %s, whose values are not the checkpoint's", weights.c_str());
  step(options, "reading", 0.0);
  ImportedNetwork made = source.import({.families = families,
                                        .path = options.checkpoint,
                                        .settings = given,
                                        .passes = options.passes,
                                        .progress = options.progress,
                                        .digest = !options.dry_run});
  write_options(options, made.graphs.front()->table.provenance.get());
  return made;
}

// "28 weights keep their integers: 21 of 4 bits, 7 of 8 bits; 1 is stored as float32: 'lm_head.weight'".
std::string sentence_of(const KeptWeights& kept) {
  std::string out = std::to_string(kept.four + kept.eight) +
                    " weights keep their integers: " + std::to_string(kept.four) + " of 4 bits, " +
                    std::to_string(kept.eight) + " of 8 bits";
  if (kept.floats.empty()) return out;
  return out + "; " + std::to_string(kept.floats.size()) + " stored as float32: '" + kept.floats.front() + "'" +
         (kept.floats.size() > 1 ? "..." : "");
}

// The text of options.calibrate as samples for `graph`.
TextSamples samples_of(const Graph& graph, const std::filesystem::path& path) {
  constexpr size_t kTokens = 512;
  const std::string name = path.filename();
  if (!predicts_tokens(graph))
    fail("--calibrate %s: expected a language model that accepts token ids alone", name.c_str());
  std::unique_ptr<Mapping> file;
  if (const Status status = Mapping::map_path(path.c_str(), &file); !status.ok())
    fail("--calibrate: %s", status.message().data());
  const std::span<const std::byte> bytes = file->bytes();
  const auto& bound = graph.table.inputs.front()->bound;
  const size_t length = bound.empty() ? kTokens : std::min<size_t>(kTokens, static_cast<size_t>(bound.back()));
  return text_samples(graph.table.text, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, length,
                      "--calibrate " + name);
}

}  // namespace

std::vector<std::unique_ptr<Graph>> convert_to_graphs(Families families, const ConvertOptions& options) {
  return import(families, options).graphs;
}

std::unique_ptr<Graph> convert_to_graph(Families families, const ConvertOptions& options) {
  return joined(import(families, options).graphs);
}

Conversion convert(Families families, const ConvertOptions& options) {
  ImportedNetwork found = import(families, options);
  std::unique_ptr<Graph> graph = joined(std::move(found.graphs));
  const std::string weights = value_of(options.settings, "weights"), kv = value_of(options.settings, "kv");
  if (found.integers && !options.settings.has("weights")) {
    if (options.settings.has("exportable"))
      fail("--exportable: needs --weights f32 or f16; without it the blob keeps the integers of this checkpoint");
    step(options, "keeping integers", 0.27);
    found.notes.push_back(sentence_of(keep_integers(*graph)));
    found.checkpoint = {};
  }
  const bool recorded = found.checkpoint.checkpoint && keeps_values(weights);
  std::optional<TextSamples> samples;
  if (!options.calibrate.empty()) samples = samples_of(*graph, options.calibrate);
  const bool calibrated = samples && !options.dry_run;
  if (calibrated) {
    const TextCalibration done = quantize_by_text(
        *graph, *samples, options.threads, [&](double share) { step(options, "calibrating", 0.1 + 0.8 * share); });
    for (std::string& sentence : sentences_of(done, options.calibrate.filename()))
      found.notes.push_back(std::move(sentence));
  }
  const double kBefore = calibrated ? 0.9 : 0.3;  // the share of the time before the weights are written
  const double packed = recorded ? 0.75 : 1;      // and before the checkpoint is compared with them
  step(options, "packing", kBefore);
  store_keys_and_values_as(kv == "float16" ? fbs::DType::Float16
                           : kv == "int8"  ? fbs::DType::Int8
                                           : fbs::DType::Float32,
                           &graph->table);
  if (weights == "i8") quantize_weights(*graph, WeightBits::Eight);
  if (weights == "i4" && !calibrated) quantize_weights(*graph, WeightBits::Four);
  const PackOptions packing = {weights == "f16" ? PackOptions::Weights::Float16 : PackOptions::Weights::Float32,
                               weights != "f32", [&options, kBefore, packed](double written) {
                                 step(options, "packing", kBefore + (packed - kBefore) * written);
                               }};
  Certify certify;
  if (options.certify)
    certify = [&options](const std::filesystem::path& blob) {
      step(options, "certifying", 1.0);
      return options.certify(blob);
    };
  else if (const bool as_given = weights.empty() || weights == "f32"; as_given && computes_on_integers(*graph))
    certify = [&](const std::filesystem::path&) {
      step(options, "certifying", 1.0);
      Certificates certificates;
      certificates.push_back(int8::certificate_of(*graph));
      return certificates;
    };
  Attach checkpoint;
  if (recorded)
    checkpoint = [&](const fbs::GraphT& table, const WrittenData& data, const Sink& sink) {
      record_checkpoint(found.checkpoint, options.settings.has("exportable"), table, data, sink,
                        [&](double compared) { step(options, "recording", packed + (1 - packed) * compared); });
    };
  const uint64_t bytes =
      options.dry_run ? packed_size(*graph, packing) : pack_file(*graph, packing, options.output, certify, checkpoint);
  step(options, "done", 1.0);
  const auto& model = graph->table;
  size_t operators = 0, taps = 0;
  for (const fbs::GraphT* table : tables_of(model)) {
    operators += table->operators.size();
    taps += table->taps.size();
  }
  Conversion done = {.family = model.provenance->family,
                     .variant = model.provenance->variant,
                     .framework = model.provenance->framework,
                     .operators = operators,
                     .taps = taps,
                     .labels = model.labels.size(),
                     .bytes = bytes,
                     .detector = std::move(found.detector),
                     .notes = std::move(found.notes),
                     .details = std::move(found.details)};
  if (options.dry_run) done.graph = std::move(graph);
  return done;
}

}  // namespace ferry
