#include "converter/tflite/metadata.h"

#include <cmath>

#include "tflite_metadata_generated.h"

namespace ferry::tflite {
namespace {

constexpr const char* kName = "TFLITE_METADATA";

// A copy, since the file need not align it.
std::vector<uint8_t> bytes_of(const File& file) {
  for (unsigned i = 0; i < count(file.model->metadata()); ++i) {
    const auto& entry = *file.model->metadata()->Get(i);
    if (entry.name() == nullptr || entry.name()->str() != kName || entry.buffer() >= count(file.model->buffers()))
      continue;
    const auto* data = file.model->buffers()->Get(entry.buffer())->data();
    if (data != nullptr) return {data->begin(), data->end()};
  }
  return {};
}

ImageSettings image_of(const metadata::Tensor& input) {
  ImageSettings image;
  for (unsigned i = 0; i < count(input.process_units()); ++i) {
    const auto* said = input.process_units()->Get(i)->options_as_Normalization();
    if (said == nullptr || count(said->mean()) == 0 || count(said->std()) == 0) continue;
    image.range = 255;
    image.mean.assign(said->mean()->begin(), said->mean()->end());
    image.std.assign(said->std()->begin(), said->std()->end());
    for (const double v : image.mean)
      if (!std::isfinite(v)) return {};
    for (const double v : image.std)
      if (!std::isfinite(v) || v <= 0) return {};
  }
  return image;
}

}  // namespace

Metadata read_metadata(const File& file) {
  Metadata out;
  const std::vector<uint8_t> bytes = bytes_of(file);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (bytes.empty() || !metadata::VerifyModelBuffer(verifier)) return out;
  const metadata::Model& model = *metadata::GetModel(bytes.data());
  if (count(model.subgraphs()) == 0) return out;
  const metadata::Subgraph& graph = *model.subgraphs()->Get(0);
  if (count(graph.inputs()) > 0) out.image = image_of(*graph.inputs()->Get(0));
  for (unsigned i = 0; i < count(graph.outputs()); ++i) {
    const auto* files = graph.outputs()->Get(i)->associated_files();
    for (unsigned k = 0; k < count(files); ++k) {
      const metadata::AssociatedFile& labels = *files->Get(k);
      if (labels.type() != metadata::FileType::AxisLabels && labels.type() != metadata::FileType::ValueLabels) continue;
      if (labels.name() != nullptr) out.label_files.push_back(labels.name()->str());
    }
  }
  return out;
}

}  // namespace ferry::tflite
