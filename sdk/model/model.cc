#include "sdk/model/model.h"

#include <new>

#include "sdk/model/mapping.h"
#include "sdk/model/packed_store.h"
#include "sdk/model/verify_meaning.h"

namespace ferry {

Model::Model() = default;
Model::~Model() = default;

Status Model::open(const char* path, std::shared_ptr<Model>* out) {
  if (!path) return error(FERRY_INVALID_ARGUMENT, "the path is NULL");
  std::unique_ptr<Mapping> mapping;
  FERRY_TRY(Mapping::map_path(path, &mapping));
  const Status status = open_bytes(std::move(mapping), out);
  if (!status.ok()) return error(status.code(), "'%s': %s", path, status.message().c_str());
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
  const fbs::Graph* graph = nullptr;
  std::span<const std::byte> data;
  FERRY_TRY(verify(mapping->bytes(), &graph, &data));
  std::unique_ptr<Model> model(new (std::nothrow) Model);
  if (model) model->packed_.reset(new (std::nothrow) PackedStore);
  if (!model || !model->packed_) return error(FERRY_OUT_OF_MEMORY, "no memory for a model");
  model->mapping_ = std::move(mapping);
  model->graph_ = graph;
  model->data_ = data;
  *out = std::move(model);
  return {};
}

Shape Model::shape(int index) const { return declared_shape(tensor(index)); }

std::span<const std::byte> Model::constant(int index) const {
  const uint32_t buffer = tensor(index).buffer();
  return buffer != 0 ? this->segment(buffer) : std::span<const std::byte>();
}

std::span<const std::byte> Model::segment(uint32_t buffer) const {
  const fbs::Buffer& segment = *graph_->buffers()->Get(buffer);
  return data_.subspan(static_cast<size_t>(segment.offset()), static_cast<size_t>(segment.size()));
}

StoredConstant Model::stored(int index) const {
  const Type type = type_of(tensor(index));
  return {type, shape(index), constant(index),
          type.quantized ? constant(static_cast<int>(type.scale)) : std::span<const std::byte>()};
}

}  // namespace ferry
