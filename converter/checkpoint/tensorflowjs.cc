#include "converter/checkpoint/tensorflowjs.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry {
namespace {

using nlohmann::json;

const json& member(const json& object, const char* key, const std::string& where) {
  if (!object.is_object()) fail("%s: is not a JSON object", where.c_str());
  const auto it = object.find(key);
  if (it == object.end()) fail("%s: has no \"%s\"", where.c_str(), key);
  return *it;
}

const std::string& text_member(const json& object, const char* key, const std::string& where) {
  const json& value = member(object, key, where);
  if (!value.is_string()) fail("%s: its \"%s\" is not a string", where.c_str(), key);
  return value.get_ref<const std::string&>();
}

double number_member(const json& object, const char* key, const std::string& where) {
  const json& value = member(object, key, where);
  if (!value.is_number()) fail("%s: its \"%s\" is not a number", where.c_str(), key);
  return value.get<double>();
}

const json& list_member(const json& object, const char* key, const std::string& where) {
  const json& value = member(object, key, where);
  if (!value.is_array()) fail("%s: its \"%s\" is not a list", where.c_str(), key);
  return value;
}

std::vector<int64_t> shape_member(const json& object, const std::string& where) {
  const json& list = list_member(object, "shape", where);
  std::vector<int64_t> shape;
  for (const json& d : list) {
    if (!d.is_number_unsigned() || d.get<uint64_t>() > std::numeric_limits<int64_t>::max())
      fail("%s: shape %s holds something other than sizes", where.c_str(), list.dump().c_str());
    shape.push_back(d.get<int64_t>());
  }
  return shape;
}

ElementType plain_type(const std::string& dtype, const std::string& where) {
  if (dtype == "float32") return ElementType::F32;
  if (dtype == "int32") return ElementType::I32;
  if (dtype == "uint8") return ElementType::U8;
  if (dtype == "bool") return ElementType::Bool;
  fail("%s: has the unknown dtype %s (known: float32 int32 uint8 bool)", where.c_str(), in_quotes(dtype).c_str());
}

// Quantization of a tensor: value = stored * scale + min.
struct Quantization {
  bool wide = false;  // uint16 instead of uint8
  double scale = 1;
  double min = 0;
};

template <typename Stored>
std::vector<std::byte> dequantize(std::span<const std::byte> bytes, const Quantization& q, ElementType type,
                                  const std::string& where) {
  std::vector<std::byte> out(bytes.size() / sizeof(Stored) * 4);
  for (size_t i = 0; i < out.size() / 4; ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    const double value = stored * q.scale + q.min;
    if (type == ElementType::F32) {
      const float v = static_cast<float>(value);
      std::memcpy(out.data() + i * 4, &v, 4);
      continue;
    }
    if (!(std::abs(value) < std::numeric_limits<int32_t>::max()))
      fail("%s: its quantization results in values beyond int32", where.c_str());
    const int32_t v = static_cast<int32_t>(std::lround(value));
    std::memcpy(out.data() + i * 4, &v, 4);
  }
  return out;
}

// The concatenated shards of a group.
class Group {
 public:
  Group(std::vector<std::shared_ptr<const MappedFile>> shards) : shards_(std::move(shards)) {
    for (const auto& shard : shards_) size_ += shard->bytes().size();
  }
  size_t size() const { return size_; }

  // The bytes [offset, offset + count): in place if one shard contains them, else copied to `owned`.
  std::span<const std::byte> bytes(size_t offset, size_t count, std::deque<std::vector<std::byte>>& owned) const {
    std::vector<std::byte> joined;
    for (const auto& shard : shards_) {
      const auto all = shard->bytes();
      if (offset >= all.size()) {
        offset -= all.size();
        continue;
      }
      const size_t here = std::min(count - joined.size(), all.size() - offset);
      if (here == count) return all.subspan(offset, count);
      joined.insert(joined.end(), all.begin() + static_cast<ptrdiff_t>(offset),
                    all.begin() + static_cast<ptrdiff_t>(offset + here));
      offset = 0;
      if (joined.size() == count) break;
    }
    return owned.emplace_back(std::move(joined));
  }

 private:
  std::vector<std::shared_ptr<const MappedFile>> shards_;
  size_t size_ = 0;
};

struct LayersReader {
  std::string path;
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::map<std::string, CheckpointTensor> tensors;
  std::deque<std::vector<std::byte>> owned;

  void read_group(const json& entry);
  size_t read_tensor(const json& weight, const Group& group, size_t offset);
};

// Returns the offset of the next tensor.
size_t LayersReader::read_tensor(const json& weight, const Group& group, size_t offset) {
  const std::string& name = text_member(weight, "name", path + ": a weight");
  const std::string where = path + ": tensor " + in_quotes(name);
  CheckpointTensor tensor;
  tensor.type = plain_type(text_member(weight, "dtype", where), where);
  tensor.shape = shape_member(weight, where);
  ElementType stored = tensor.type;
  std::optional<Quantization> quantization;
  if (const auto it = weight.find("quantization"); it != weight.end()) {
    const std::string& dtype = text_member(*it, "dtype", where);
    if (tensor.type != ElementType::F32 && tensor.type != ElementType::I32)
      fail("%s: only float32 and int32 tensors can be quantized", where.c_str());
    if (dtype == "float16" && tensor.type == ElementType::F32) {
      stored = tensor.type = ElementType::F16;
    } else if (dtype == "uint8" || dtype == "uint16") {
      quantization = {dtype == "uint16", number_member(*it, "scale", where), number_member(*it, "min", where)};
      stored = quantization->wide ? ElementType::I16 : ElementType::U8;
    } else {
      fail("%s: has the unknown quantization %s (known: uint8 uint16, and float16 of float32)", where.c_str(),
           in_quotes(dtype).c_str());
    }
  }
  const auto bytes = tensor_bytes(stored, tensor.shape);
  if (!bytes || !tensor_bytes(tensor.type, tensor.shape))
    fail("%s: shape %s is too large", where.c_str(), shape_text(tensor.shape).c_str());
  if (*bytes > group.size() - offset)
    fail("%s: needs bytes %zu to %zu of its group, whose files hold %zu: a truncated download?", where.c_str(), offset,
         offset + *bytes, group.size());
  tensor.bytes = group.bytes(offset, *bytes, owned);
  if (quantization)
    tensor.bytes =
        owned.emplace_back(quantization->wide ? dequantize<uint16_t>(tensor.bytes, *quantization, tensor.type, where)
                                              : dequantize<uint8_t>(tensor.bytes, *quantization, tensor.type, where));
  if (!tensors.emplace(name, std::move(tensor)).second) fail("%s: is listed twice", where.c_str());
  return offset + *bytes;
}

void LayersReader::read_group(const json& entry) {
  const std::string where = path + ": a group of the weightsManifest";
  std::vector<std::shared_ptr<const MappedFile>> shards;
  for (const json& name : list_member(entry, "paths", where)) {
    if (!name.is_string()) fail("%s: its \"paths\" are not strings", where.c_str());
    shards.push_back(open_sibling(*files.front(), name.get<std::string>(), "the weightsManifest"));
  }
  files.insert(files.end(), shards.begin(), shards.end());
  const Group group(std::move(shards));
  size_t offset = 0;
  for (const json& weight : list_member(entry, "weights", where)) offset = read_tensor(weight, group, offset);
  if (offset != group.size())
    fail("%s: its tensors need %zu bytes, its files hold %zu", where.c_str(), offset, group.size());
}

}  // namespace

std::shared_ptr<const Checkpoint> open_tensorflowjs(std::shared_ptr<const MappedFile> model_json) {
  LayersReader reader;
  reader.path = model_json->path().string();
  reader.files.push_back(model_json);
  const json root = parse_json(text_of(*model_json), reader.path);
  if (const auto format = root.find("format"); format != root.end() && *format != "layers-model")
    fail("%s: is a TensorFlow.js %s, but only layers models are supported", reader.path.c_str(),
         format->dump().c_str());
  for (const json& group : list_member(root, "weightsManifest", reader.path)) reader.read_group(group);
  auto checkpoint =
      std::make_shared<FileCheckpoint>("tensorflow.js", std::move(reader.files), std::move(reader.tensors));
  checkpoint->owned = std::move(reader.owned);  // moving a deque does not move its elements
  return checkpoint;
}

}  // namespace ferry
