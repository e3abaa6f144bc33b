#include "converter/tflite/source.h"

#include "converter/checkpoint/sha256.h"
#include "converter/checkpoint/zip.h"
#include "converter/passes/passes.h"
#include "converter/preprocessing/labels.h"
#include "converter/preprocessing/prepare_images.h"
#include "converter/quantize/compute_on_integers.h"
#include "converter/tflite/importer.h"
#include "converter/tflite/quantised.h"
#include "converter/tflite/weights.h"

namespace ferry::tflite {
namespace {

bool recognises(const MappedFile& file) { return looks_like_tflite(file.bytes()); }

// The lines of the only text file in the archive that may follow the network: by TensorFlow Lite's tools, the classes.
std::vector<std::string> classes_of(const File& file) {
  ZipEntries entries;
  try {
    entries = zip_entries(*file.mapped);
  } catch (const Error&) {
    return {};  // there is no archive
  }
  std::erase_if(entries, [](const auto& entry) { return !entry.first.ends_with(".txt") || !entry.second.stored; });
  if (entries.size() != 1) return {};
  const std::span<const std::byte> bytes = entries.begin()->second.bytes;
  return lines_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string producer_of(const File& file) {
  const flatbuffers::String* text = file.model->description();
  return text != nullptr ? text->str() : "";
}

std::unique_ptr<fbs::ProvenanceT> provenance_of(const File& file, bool digest) {
  auto provenance = std::make_unique<fbs::ProvenanceT>();
  provenance->family = "tflite";
  provenance->variant = file.mapped->path().stem().string();
  provenance->source = file.name();
  // A placeholder of the same length, so that a dry run knows the blob's size.
  provenance->source_sha256 = digest ? sha256_hex(file.mapped->bytes()) : std::string(64, '0');
  provenance->framework = "tflite";
  return provenance;
}

ImportedNetwork import(const ImportRequest& request) {
  if (request.settings.has("max-length"))
    fail("--max-length: is for language models, and %s is none", request.path.filename().c_str());
  const File file = open_file(request.path);
  const bool taps = request.settings.has("keep-taps");
  Imported imported = import_file(file, {.taps = taps});
  Graph& graph = *imported.graph;
  ImportedNetwork made;
  made.notes = std::move(imported.notes);
  ImageRequest images = image_request(request.settings, request.path);
  images.classes = classes_of(file);
  images.own = levels_as_integers(file);
  prepare_images(graph, request.families, images, &made.notes);
  if (request.passes) {
    const PassOptions options{.keep_taps = taps};
    make_channels_last(graph, options);
    run_passes(graph, options);
    const std::string note = int8::note_of(int8::compute_on_integers(graph, options));
    if (!note.empty()) made.notes.push_back(note);
  }
  graph.table.name = request.path.stem().string();
  graph.table.provenance = provenance_of(file, request.digest);
  made.graphs.push_back(std::move(imported.graph));
  return made;
}

Outline outline(const std::filesystem::path& path, const Settings&) {
  const File file = open_file(path);
  Outline out;
  out.producer = producer_of(file);
  for (unsigned i = 0; i < count(file.graph->operators()); ++i)
    ++out.operators[file.operator_name(*file.graph->operators()->Get(i))];
  const std::shared_ptr<const Checkpoint> constants = open_constants(path);
  for (const auto& [name, tensor] : constants->tensors()) out.parameters += static_cast<uint64_t>(tensor.elements());
  try {
    out.graph = std::move(import_file(file, {}).graph);
  } catch (const Refused& refused) {
    out.refused = refused.reasons();
  }
  return out;
}

}  // namespace

Source tflite_source() {
  return {.name = "a TensorFlow Lite file",
          .plural = "TensorFlow Lite files",
          .formats = "TensorFlow Lite",
          .family = "tflite",
          .recognises = recognises,
          .folders = false,
          .options = preparation_options,
          .import = import,
          .outline = outline,
          .weights = [](Families, const std::filesystem::path& path, const Settings&) { return open_constants(path); }};
}

}  // namespace ferry::tflite
