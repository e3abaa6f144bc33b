#include "converter/convert.h"

#include <algorithm>

#include "converter/error.h"
#include "converter/export/record.h"
#include "converter/provenance.h"
#include "converter/quantize/quantize.h"

namespace ferry {
namespace {

void step(const ConvertOptions& options, const char* what, double fraction) {
  if (options.progress) options.progress(what, fraction);
}

// Options that have a field of ConvertOptions.
struct Field {
  const char* name;
  std::string ConvertOptions::*text;
  std::filesystem::path ConvertOptions::*path;
  bool ConvertOptions::*flag;
};
constexpr Field kFields[] = {
    {"model", &ConvertOptions::model, nullptr, nullptr},
    {"state-dict", &ConvertOptions::state_dict, nullptr, nullptr},
    {"weights", &ConvertOptions::weights, nullptr, nullptr},
    {"labels", nullptr, &ConvertOptions::labels, nullptr},
    {"read", nullptr, &ConvertOptions::read, nullptr},
    {"characters", nullptr, &ConvertOptions::characters, nullptr},
    {"exportable", nullptr, nullptr, &ConvertOptions::exportable},
    {"keep-taps", nullptr, nullptr, &ConvertOptions::keep_taps},
};

// No checkpoint is put together again of quantised weights.
bool gives_back(const ConvertOptions& o) { return o.weights != "i8" && o.weights != "i4"; }

// The blob's graphs, the first of them with its provenance.
ImportedNetwork import(Families families, const ConvertOptions& options) {
  const Settings given = options.given();
  check_values(given, families);
  const Source& source = source_of(options.checkpoint);
  check_options(source, options.checkpoint, given);
  if (options.exportable && !gives_back(options))
    fail("--exportable: not with --weights %s, whose values are not the checkpoint's", options.weights.c_str());
  step(options, "reading", 0.0);
  ImportedNetwork made = source.import({.families = families,
                                        .path = options.checkpoint,
                                        .settings = given,
                                        .passes = options.passes,
                                        .progress = options.progress});
  write_options(options, made.graphs.front()->table.provenance.get());
  return made;
}

std::unique_ptr<Graph> joined(std::vector<std::unique_ptr<Graph>> graphs) {
  for (auto more = graphs.begin() + 1; more != graphs.end(); ++more) graphs.front()->add_graph(std::move(**more));
  return std::move(graphs.front());
}

}  // namespace

Settings ConvertOptions::given() const {
  Settings all = settings;
  for (const Field& field : kFields) {
    if (field.flag && this->*field.flag) all.set(field.name);
    const std::string value = field.text   ? this->*field.text
                              : field.path ? (this->*field.path).string()
                                           : std::string();
    const Option* option = find_option(field.name);
    if (!value.empty() && value != option->absent) all.set(field.name, value);
  }
  return all;
}

void ConvertOptions::give(const std::string& name, const std::string& value) {
  const auto* field =
      std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& f) { return f.name == name; });
  if (field == std::end(kFields)) {
    settings.add(name, value);
  } else if (field->flag) {
    this->*field->flag = true;
  } else if (field->text) {
    this->*field->text = value;
  } else {
    this->*field->path = value;
  }
}

std::vector<std::unique_ptr<Graph>> convert_to_graphs(Families families, const ConvertOptions& options) {
  return import(families, options).graphs;
}

std::unique_ptr<Graph> convert_to_graph(Families families, const ConvertOptions& options) {
  return joined(import(families, options).graphs);
}

Conversion convert(Families families, const ConvertOptions& options) {
  ImportedNetwork found = import(families, options);
  std::unique_ptr<Graph> graph = joined(std::move(found.graphs));
  step(options, "packing", 0.7);
  if (options.weights == "i8") quantize_weights(*graph, WeightBits::Eight);
  if (options.weights == "i4") quantize_weights(*graph, WeightBits::Four);
  const PackOptions packing = {options.weights == "f16" ? PackOptions::Weights::Float16 : PackOptions::Weights::Float32,
                               options.weights != "f32"};
  Certify certify;
  if (options.certify)
    certify = [&options](const std::filesystem::path& blob) {
      step(options, "certifying", 0.8);
      return options.certify(blob);
    };
  Attach checkpoint;
  if (found.checkpoint.checkpoint && gives_back(options))
    checkpoint = [&](const fbs::GraphT& table, std::span<const std::byte> data, const Sink& sink) {
      record_checkpoint(found.checkpoint, options.exportable, table, data, sink);
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
                     .notes = std::move(found.notes)};
  if (options.dry_run) done.graph = std::move(graph);
  return done;
}

}  // namespace ferry
