#include "sdk/model/model.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "sdk/model/mapping.h"
#include "sdk/model/packed_store.h"
#include "sdk/model/seeded.h"
#include "sdk/model/sha256.h"
#include "sdk/model/verify_meaning.h"
#include "sdk/model/weight_check.h"

namespace ferry {
namespace {

// What has a checksum, each once.
std::vector<WeightCheck::Part> checked_parts(const fbs::Graph& root, std::span<const std::byte> data) {
  std::vector<WeightCheck::Part> parts;
  std::vector<bool> seen(root.buffers()->size());
  const auto add = [&](uint32_t index, const char* name, bool in_use) {
    const fbs::Buffer& buffer = *root.buffers()->Get(index);
    if (buffer.checksum() == 0 || seen[index]) return;
    seen[index] = true;
    parts.push_back({data.subspan(static_cast<size_t>(buffer.offset()), static_cast<size_t>(buffer.size())),
                     buffer.checksum(), name, in_use});
  };
  const auto add_constants = [&](const fbs::Graph& graph) {
    for (const fbs::Tensor* tensor : *graph.tensors()) add(tensor->buffer(), text(tensor->name()), false);
  };
  add_constants(root);
  for (uint32_t i = 0; root.graphs() != nullptr && i < root.graphs()->size(); ++i)
    add_constants(*root.graphs()->Get(i));
  for (uint32_t i = 0; root.packed() != nullptr && i < root.packed()->size(); ++i)
    add(root.packed()->Get(i)->buffer(), "packed weights", true);
  if (root.text() != nullptr && root.text_checksum() != 0)
    parts.push_back({std::as_bytes(std::span(root.text()->data(), root.text()->size())), root.text_checksum(),
                     "tokenizer and chat template", true});
  return parts;
}

}  // namespace

Model::Contents::Contents() = default;
Model::Contents::~Contents() = default;
Model::Model() = default;
Model::~Model() = default;

Status Model::open(const char* path, std::shared_ptr<Model>* out) {
  if (!path) return error(FERRY_INVALID_ARGUMENT, "the path is NULL");
  std::unique_ptr<Mapping> mapping;
  FERRY_TRY(Mapping::map_path(path, &mapping));
  const Status status = open_bytes(std::move(mapping), out);
  if (!status.ok()) return error(status.code(), "'%s': %s", path, status.message().data());
  return {};
}

Status Model::open_fd(int fd, uint64_t offset, uint64_t length, std::shared_ptr<Model>* out) {
  std::unique_ptr<Mapping> mapping;
  FERRY_TRY(Mapping::map_fd(fd, offset, length, &mapping));
  return open_bytes(std::move(mapping), out);
}

Status Model::open_memory(const void* data, size_t size, std::shared_ptr<Model>* out) {
  std::unique_ptr<Mapping> mapping;
  FERRY_TRY(Mapping::view(data, size, &mapping));
  return open_bytes(std::move(mapping), out);
}

Status Model::open_bytes(std::unique_ptr<Mapping> mapping, std::shared_ptr<Model>* out) {
  std::unique_ptr<Contents> contents(new (std::nothrow) Contents);
  std::unique_ptr<Model> model(new (std::nothrow) Model);
  if (contents) contents->packed.reset(new (std::nothrow) PackedStore);
  if (!contents || !model || !contents->packed) return error(FERRY_OUT_OF_MEMORY, "no memory for a model");
  FERRY_TRY(verify(mapping->bytes(), &contents->root, &contents->data));
  contents->mapping = std::move(mapping);
  std::vector<WeightCheck::Part> parts = checked_parts(*contents->root, contents->data);
  contents->weight_check.reset(new (std::nothrow) WeightCheck(std::move(parts), *contents->mapping));
  if (!contents->weight_check) return error(FERRY_OUT_OF_MEMORY, "no memory for a model");
  model->graph_ = contents->root;
  model->contents_ = std::move(contents);
  *out = std::move(model);
  return {};
}

size_t Model::graph_count() const { return 1 + (root().graphs() != nullptr ? root().graphs()->size() : 0); }

size_t Model::output_count() const {
  const auto& outputs = *graph().outputs();
  size_t count = outputs.size();
  while (count > 0 && outputs.Get(static_cast<unsigned>(count - 1))->is_count()) --count;
  return count;
}

const char* Model::graph_name(size_t index) const {
  return text(index == 0 ? root().name() : root().graphs()->Get(static_cast<unsigned>(index - 1))->name());
}

Status Model::find_graph(const char* name, size_t* index) const {
  for (size_t i = 0; i < graph_count(); ++i) {
    *index = i;
    if (std::strcmp(graph_name(i), name) == 0) return {};
  }
  return error(FERRY_NOT_FOUND, "the model has no graph '%.64s'; it has %zu, the first is '%.64s'", name, graph_count(),
               graph_name(0));
}

Status Model::open_graph(size_t index, std::shared_ptr<const Model>* out) const {
  std::unique_ptr<Model> model(new (std::nothrow) Model);
  if (!model) return error(FERRY_OUT_OF_MEMORY, "no memory for a model");
  model->contents_ = contents_;
  model->graph_ = index == 0 ? &root() : root().graphs()->Get(static_cast<unsigned>(index - 1));
  *out = std::move(model);
  return {};
}

Shape Model::shape(TensorId id) const { return declared_shape(tensor(id)); }

std::span<const std::byte> Model::constant(TensorId id) const {
  const uint32_t buffer = tensor(id).buffer();
  return buffer != 0 ? this->segment(buffer) : std::span<const std::byte>();
}

void Model::forget(TensorId id) const { contents_->mapping->forget(constant(id)); }

std::span<const std::byte> Model::segment(uint32_t buffer) const {
  const fbs::Buffer& segment = *root().buffers()->Get(buffer);
  return contents_->data.subspan(static_cast<size_t>(segment.offset()), static_cast<size_t>(segment.size()));
}

Status Model::check_weights() const {
  if (root().content() == nullptr)
    return error(FERRY_NOT_FOUND, "the blob has no SHA-256 of its weights: convert it again");
  uint64_t end = contents_->data.size();  // end of the weights; packed files follow them
  for (uint32_t i = 0; root().packed() != nullptr && i < root().packed()->size(); ++i)
    end = std::min(end, root().buffers()->Get(root().packed()->Get(i)->buffer())->offset());
  char digits[65];
  char* to = digits;
  for (const uint32_t word : sha256_of(contents_->data.first(static_cast<size_t>(end))))
    to += std::snprintf(to, 9, "%08x", word);
  if (root().content()->string_view() == digits) return {};
  return error(FERRY_CORRUPT, "the weights are damaged: their SHA-256 is %s, where %s was written", digits,
               root().content()->c_str());
}

uint64_t Model::identity() const {
  const std::span<const std::byte> blob = contents_->mapping->bytes();
  BlobHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  const auto graphs = blob.subspan(static_cast<size_t>(header.graph_offset), static_cast<size_t>(header.graph_bytes));
  return fnv1a64({reinterpret_cast<const char*>(graphs.data()), graphs.size()});
}

StoredConstant Model::stored(TensorId id) const {
  const Type type = type_of(tensor(id));
  if (type.float_scale != 0) {
    const auto* table = reinterpret_cast<const flatbuffers::Table*>(tensor(id).quantization());
    const uint8_t* scale = table->GetAddressOf(fbs::Quantization::VT_FLOAT_SCALE);
    return {type, shape(id), constant(id), std::as_bytes(std::span(scale, sizeof(float)))};
  }
  if (!type.quantized) return {type, shape(id), constant(id)};
  return {type, shape(id), constant(id), constant(type.scale), tensor(type.scale).dtype()};
}

}  // namespace ferry
