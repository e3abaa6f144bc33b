#include "cli/parity/certify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "cli/parity/compare.h"
#include "cli/parity/equal_inputs.h"
#include "cli/parity/generator.h"
#include "cli/parity/judge.h"
#include "cli/parity/network.h"
#include "cli/parity/prompts.h"
#include "cli/parity/report.h"
#include "cli/parity/rounding.h"
#include "converter/error.h"
#include "sdk/model/model.h"

namespace ferry::parity {
namespace {

// Sizes in the flatbuffer: a stage's table with its offsets, a string besides its characters, and the certificate
// itself.
constexpr size_t kStageBytes = 40, kStringBytes = 8, kOwnBytes = 1024;
// Fewer samples say too little about a tensor.
constexpr size_t kMinSamples = 16, kMaxSamples = 2048;

std::unique_ptr<fbs::CertificateInputT> certified_input(const FixtureInput& input, const fbs::Port& port,
                                                        uint64_t seed) {
  auto out = std::make_unique<fbs::CertificateInputT>();
  const bool channels_first = port.source_layout() == fbs::Layout::NCHW;
  Dims shape = input.shape;
  if (channels_first) shape = {shape[0], shape[2], shape[3], shape[1]};
  out->shape.assign(shape.begin(), shape.end());
  const auto image = [&] {
    return channels_first ? input_image(input.shape, seed) : input_image_channels_last(input.shape, seed);
  };
  if (input.shape.size() == 4 && image() == input.values)
    out->seed = seed;
  else
    out->values = input.values;
  const auto& values = out->values;
  if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end() && !values.empty())
    out->values.resize(1);
  return out;
}

bool is_output(const fbs::Graph& graph, const std::string& name) {
  return std::any_of(graph.outputs()->begin(), graph.outputs()->end(),
                     [&](const fbs::Port* port) { return text(port->name()) == name; });
}

bool is_tap(const fbs::Graph& graph, const std::string& name) {
  return graph.taps() != nullptr && std::any_of(graph.taps()->begin(), graph.taps()->end(),
                                                [&](const fbs::Port* port) { return text(port->name()) == name; });
}

// The first `count` of an entry's samples, by the same rule as a fixture's.
std::vector<float> samples(const Entry& entry, size_t count) {
  if (!entry.positions.empty()) {
    count = std::min(count, entry.values.size());
    return {entry.values.begin(), entry.values.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  std::vector<float> out;
  for (int64_t at : sample_positions(entry.name, static_cast<int64_t>(count), elements(entry.shape)))
    out.push_back(entry.values[static_cast<size_t>(at)]);
  return out;
}

// The entry with the blob's own values.
Entry as_computed(Entry entry, const Computed& computed) {
  entry.positions.clear();
  entry.values = computed.read();
  entry.absmax = 0;
  for (const float v : entry.values) entry.absmax = std::max(entry.absmax, std::fabs(static_cast<double>(v)));
  if (entry.absmax == 0) entry.absmax = 1;
  return entry;
}

// True if the stage's name already implies the entry's name.
bool is_implied(const Entry& entry, const std::string& name) { return entry.name == "tap/" + name; }

// The bound of a stage's maximum error. With rounded constants it is the largest change that rounding causes there,
// times the factor by which the squared error may exceed its cost (rounding.h).
double bound_of(const Row& row) {
  if (row.rounding_reach < 0) return row.bound;
  return std::max(std::sqrt(rounding_factor(row.compared)) * row.rounding_reach / row.absmax, kRelativeBound);
}

std::unique_ptr<fbs::CertificateStageT> certified_stage(const Row& row, const Entry& entry, const std::string& name,
                                                        size_t count) {
  auto out = std::make_unique<fbs::CertificateStageT>();
  const bool absolute = row.measure == Measure::Absolute;
  out->name = name;
  if (!is_implied(entry, name)) out->entry = entry.name;
  out->samples = samples(entry, std::min(count, static_cast<size_t>(elements(entry.shape))));
  out->absmax = absolute ? 1.0f : static_cast<float>(entry.absmax);
  out->bound = static_cast<float>(bound_of(row));
  out->error = static_cast<float>(absolute ? row.max_abs_error : row.relative_error);
  return out;
}

size_t packed_bytes(const fbs::CertificateT& certificate) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::Certificate::Pack(builder, &certificate));
  return builder.GetSize();
}

// The graph's certificate without its stages. Inputs named like outputs of the root graph are taken from these.
std::unique_ptr<fbs::CertificateT> without_stages(const GraphFixture& graph, const fbs::Graph& root,
                                                  const Fixture& fixture) {
  auto out = std::make_unique<fbs::CertificateT>();
  out->fixture = fixture.name;
  out->fixture_sha256 = fixture.sha256;
  out->architecture = fixture.architecture;
  out->library = fixture.library;
  const std::vector<FixtureInput>& inputs = graph.fixture.inputs;
  for (const fbs::Port* port : *graph.model->graph().inputs()) {
    const std::string name = text(port->name());
    const auto input = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const FixtureInput& i) { return inputs.size() == 1 || i.name == name; });
    out->inputs.push_back(certified_input(*input, *port, fixture.seed));
    if (graph.index == 0 || !is_output(root, name)) continue;
    out->inputs.back()->from = name;
    out->inputs.back()->values.clear();
  }
  return out;
}

}  // namespace

Certificates certificates_of(const std::filesystem::path& blob, const Fixture& fixture) {
  const std::string what = "a certificate from fixture " + fixture.name;
  const ferry_session_options session = cli::session_options(0);
  const Network network(blob, fixture, session);
  const ComputedTensors computed = network.tensors();
  Report report;
  report.comparison = judge(blob, fixture, computed, session);
  if (!report.comparison.passed()) fail("%s: %s", what.c_str(), summary(report).c_str());

  Certificates out;
  const std::vector<GraphFixture> graphs = by_graph(open_blob(blob), fixture, computed);
  for (const GraphFixture& graph : graphs) out.resize(std::max(out.size(), graph.index + 1));
  size_t spent = 0;
  for (const GraphFixture& graph : graphs) {
    out[graph.index] = without_stages(graph, graphs.front().model->root(), fixture);
    spent += kOwnBytes + packed_bytes(*out[graph.index]);
  }

  const auto name_of = [&](const Row& row) { return computed.contains(row.name) ? row.name : row.module; };
  std::map<std::string, const Entry*> entries;
  for (const Entry& entry : fixture.entries) entries[entry.name] = &entry;
  std::map<std::string, Entry> own;  // of a network on integers, whose results are the same everywhere
  for (Row& row : report.comparison.rows) {
    if (!computes_on_integers(blob)) break;
    own[row.name] = as_computed(*entries.at(row.name), computed.at(name_of(row)));
    entries[row.name] = &own[row.name];
    row.measure = Measure::Relative;
    row.bound = kRelativeBound;
    row.max_abs_error = row.relative_error = 0;
  }
  for (const Row& row : report.comparison.rows) {
    const std::string name = name_of(row);
    spent += kStageBytes + kStringBytes + name.size();
    if (!is_implied(*entries.at(row.name), name)) spent += kStringBytes + row.name.size();
  }
  const size_t stages = report.comparison.rows.size();
  const size_t count =
      spent < kMaxCertificateBytes ? (kMaxCertificateBytes - spent) / (stages * sizeof(float)) : size_t{0};
  if (count < kMinSamples)
    fail(
        "%s: its inputs and %zu stages leave no room for samples in %zu KiB; seeded inputs need no room, "
        "and a blob without --keep-taps has fewer stages",
        what.c_str(), stages, kMaxCertificateBytes >> 10);
  for (const Row& row : report.comparison.rows) {
    const Entry& entry = *entries.at(row.name);
    const std::string name = name_of(row);
    // If two graphs have an output of one name, the later graph's was compared.
    const auto graph = std::find_if(graphs.rbegin(), graphs.rend(), [&](const GraphFixture& g) {
      return is_output(g.model->graph(), name) || is_tap(g.model->graph(), name);
    });
    auto& list = out[graph->index]->stages;
    list.push_back(certified_stage(row, entry, name, std::min(count, kMaxSamples)));
    const fbs::CertificateStageT& stage = *list.back();
    if (stage.error > stage.bound)
      fail("%s: the error at %s is %g, but rounding explains only %g", what.c_str(), row.name.c_str(),
           static_cast<double>(stage.error), static_cast<double>(stage.bound));
  }
  size_t bytes = 0;
  if (out.front()->stages.empty()) fail("%s: it holds no stage of the blob's first graph", what.c_str());
  for (auto& certificate : out) {
    if (certificate != nullptr && certificate->stages.empty()) certificate = nullptr;
    if (certificate != nullptr) bytes += packed_bytes(*certificate);
  }
  if (bytes > kMaxCertificateBytes)
    fail("%s: it has %zu bytes, at most %zu are allowed", what.c_str(), bytes, kMaxCertificateBytes);
  return out;
}

}  // namespace ferry::parity
