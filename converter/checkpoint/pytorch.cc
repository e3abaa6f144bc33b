#include "converter/checkpoint/pytorch.h"

#include <cstring>
#include <optional>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/state_dict.h"
#include "converter/checkpoint/zip.h"
#include "converter/error.h"

namespace ferry {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kGlobals[] = {
    "collections.OrderedDict", "builtins.set", "builtins.frozenset",
    // Tensors and their storages.
    "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state", "torch.FloatStorage",
    "torch.DoubleStorage", "torch.HalfStorage", "torch.BFloat16Storage", "torch.LongStorage", "torch.IntStorage",
    "torch.ShortStorage", "torch.CharStorage", "torch.ByteStorage", "torch.BoolStorage", "torch.storage.UntypedStorage",
    // Plain values of PyTorch, Python 2 and NumPy.
    "torch.Size", "torch.device", "torch.float64", "torch.float32", "torch.float16", "torch.bfloat16", "torch.int64",
    "torch.int32", "torch.int16", "torch.int8", "torch.uint8", "torch.bool", "_codecs.encode", "numpy.dtype",
    "numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"};

constexpr struct {
  std::string_view storage, dtype;
  ElementType type;
} kStorageTypes[] = {
    {"torch.DoubleStorage", "torch.float64", ElementType::F64},
    {"torch.FloatStorage", "torch.float32", ElementType::F32},
    {"torch.HalfStorage", "torch.float16", ElementType::F16},
    {"torch.BFloat16Storage", "torch.bfloat16", ElementType::BF16},
    {"torch.LongStorage", "torch.int64", ElementType::I64},
    {"torch.IntStorage", "torch.int32", ElementType::I32},
    {"torch.ShortStorage", "torch.int16", ElementType::I16},
    {"torch.CharStorage", "torch.int8", ElementType::I8},
    {"torch.ByteStorage", "torch.uint8", ElementType::U8},
    {"torch.BoolStorage", "torch.bool", ElementType::Bool},
};

// torch.serialization.MAGIC_NUMBER as a pickle: the first pickle of a file before PyTorch 1.6.
constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

constexpr size_t kMaxRank = 32;
// Maximum total size of copied strided tensors, in file sizes: an expanded tensor can claim any size.
constexpr size_t kMaxCopies = 4;

bool is_legacy(std::string_view text) { return text.substr(0, 2 + kMagic.size()).ends_with(kMagic); }

// The storage behind a tensor: ("storage", type, key, location, count).
struct StorageName {
  std::optional<ElementType> type;  // absent: untyped; the tensor has the type
  std::string_view key;
  uint64_t count;  // of elements
  bool is_view = false;

  uint64_t bytes() const { return count * (type ? element_size(*type) : 1); }
};

using Storages = std::map<std::string, std::string_view, std::less<>>;  // bytes by key

class TensorReader {
 public:
  TensorReader(Storages storages, size_t file_size, std::deque<std::vector<std::byte>>& owned)
      : storages_(std::move(storages)), copies_left_(kMaxCopies * file_size), owned_(owned) {}

  CheckpointTensor rebuild(const PickleValue& call, const std::string& where);

 private:
  std::span<const std::byte> contiguous(std::span<const std::byte> from, const std::vector<int64_t>& shape,
                                        const std::vector<int64_t>& strides, size_t element, size_t size,
                                        const std::string& where);

  Storages storages_;
  size_t copies_left_;
  std::deque<std::vector<std::byte>>& owned_;
};

[[noreturn]] void malformed(const std::string& where, const char* what) {
  fail("%s: is damaged: its %s is not what torch.save writes", where.c_str(), what);
}

// Sizes or strides: a tuple, or a torch.Size of a tuple.
std::vector<int64_t> numbers(const PickleValue& value, const std::string& where, const char* what) {
  const PickleValue* list = &value;
  if (list->kind == Kind::Call && list->text == "torch.Size" && list->items.size() == 1) list = list->items[0];
  if ((list->kind != Kind::Tuple && list->kind != Kind::List) || list->items.size() > kMaxRank) malformed(where, what);
  std::vector<int64_t> out;
  for (const PickleValue* item : list->items) {
    if (item->kind != Kind::Integer || item->integer < 0) malformed(where, what);
    out.push_back(item->integer);
  }
  return out;
}

StorageName storage_name(const PickleValue& value, const std::string& where) {
  const auto& id = value.items;
  if (value.kind != Kind::Persistent || id.size() < 5 || id[0]->text != "storage" || id[1]->kind != Kind::Global ||
      id[2]->kind != Kind::Text || id[4]->kind != Kind::Integer || id[4]->integer < 0 ||
      id[4]->integer > int64_t{1} << 56)
    malformed(where, "storage");
  StorageName name{.key = id[2]->text, .count = static_cast<uint64_t>(id[4]->integer)};
  name.is_view = id.size() > 5 && id[5]->kind != Kind::None;
  for (const auto& known : kStorageTypes)
    if (id[1]->text == known.storage) name.type = known.type;
  if (!name.type && id[1]->text != "torch.storage.UntypedStorage") malformed(where, "storage");
  return name;
}

CheckpointTensor TensorReader::rebuild(const PickleValue& call, const std::string& where) {
  const std::string_view function = call.text.substr(std::string_view("torch._utils._rebuild_").size());
  const auto& a = call.items;
  if (function.starts_with("parameter")) {  // (tensor, requires_grad, ...)
    if (a.empty() || !is_tensor(*a[0]) || a[0]->text.find("_rebuild_tensor") == a[0]->text.npos)
      malformed(where, "parameter");
    return rebuild(*a[0], where);
  }
  // (storage, offset, size, stride, ...); in version 3, the dtype follows requires_grad and hooks.
  const bool typed = function == "tensor_v3";
  if (a.size() < (typed ? 7 : 4) || a[1]->kind != Kind::Integer || a[1]->integer < 0) malformed(where, "tensor");
  const StorageName storage = storage_name(*a[0], where);
  std::optional<ElementType> type = storage.type;
  if (typed)
    for (const auto& known : kStorageTypes)
      if (a[6]->text == known.dtype) type = known.type;
  if (!type) malformed(where, "dtype");

  const auto found = storages_.find(storage.key);
  if (found == storages_.end())
    fail("%s: its storage %s is not in the file", where.c_str(), in_quotes(storage.key).c_str());
  if (storage.bytes() > found->second.size())
    fail("%s: its storage should hold %llu bytes, but there are %zu: a truncated file?", where.c_str(),
         static_cast<unsigned long long>(storage.bytes()), found->second.size());

  CheckpointTensor tensor{.type = *type, .shape = numbers(*a[2], where, "size"), .bytes = {}};
  const std::vector<int64_t> strides = numbers(*a[3], where, "stride");
  if (strides.size() != tensor.shape.size()) malformed(where, "stride");
  const size_t element = element_size(*type);
  const auto size = tensor_bytes(*type, tensor.shape);
  if (!size) fail("%s: shape %s is too large", where.c_str(), shape_text(tensor.shape).c_str());
  if (*size == 0) return tensor;

  // The last element must be within the storage.
  uint64_t last = static_cast<uint64_t>(a[1]->integer);
  bool beyond = false, plain = true;
  for (size_t d = tensor.shape.size(), dense = 1; d-- > 0;) {
    uint64_t reach = 0;
    beyond =
        beyond ||
        __builtin_mul_overflow(static_cast<uint64_t>(tensor.shape[d] - 1), static_cast<uint64_t>(strides[d]), &reach) ||
        __builtin_add_overflow(last, reach, &last);
    plain = plain && (tensor.shape[d] == 1 || static_cast<size_t>(strides[d]) == dense);
    dense *= static_cast<size_t>(tensor.shape[d]);
  }
  if (beyond || last >= storage.bytes() / element)
    fail("%s: shape %s with strides %s from element %lld leads out of its storage", where.c_str(),
         shape_text(tensor.shape).c_str(), shape_text(strides).c_str(), static_cast<long long>(a[1]->integer));
  const auto from = std::as_bytes(std::span(found->second.data(), found->second.size()))
                        .subspan(static_cast<size_t>(a[1]->integer) * element);
  tensor.bytes = plain ? from.subspan(0, *size) : contiguous(from, tensor.shape, strides, element, *size, where);
  return tensor;
}

std::span<const std::byte> TensorReader::contiguous(std::span<const std::byte> from, const std::vector<int64_t>& shape,
                                                    const std::vector<int64_t>& strides, size_t element, size_t size,
                                                    const std::string& where) {
  if (size > copies_left_)
    fail("%s: shape %s is expanded: its copy would be larger than the file", where.c_str(), shape_text(shape).c_str());
  copies_left_ -= size;
  std::vector<std::byte>& to = owned_.emplace_back(size);
  std::vector<int64_t> index(shape.size());
  size_t source = 0;  // in elements
  for (size_t at = 0; at < size; at += element) {
    std::memcpy(to.data() + at, from.data() + source * element, element);
    for (size_t d = shape.size(); d-- > 0;) {
      source += static_cast<size_t>(strides[d]);
      if (++index[d] < shape[d]) break;
      source -= static_cast<size_t>(index[d] * strides[d]);
      index[d] = 0;
    }
  }
  return to;
}

std::map<std::string, CheckpointTensor> rebuild_all(const Pickle& pickle, const std::string& state_dict,
                                                    const std::string& path, TensorReader& tensors) {
  std::map<std::string, CheckpointTensor> out;
  for (const auto& [name, call] : find_state_dict(*pickle.root, state_dict, path)) {
    const std::string where = path + ": tensor " + in_quotes(name);
    if (!out.emplace(name, tensors.rebuild(*call, where)).second) fail("%s: appears twice", where.c_str());
  }
  return out;
}

// ARCHIVE/data.pkl, ARCHIVE/data/0, ARCHIVE/data/1...
std::map<std::string, CheckpointTensor> read_zip(const MappedFile& file, const std::string& state_dict,
                                                 std::deque<std::vector<std::byte>>& owned) {
  const std::string path = file.path().string();
  const ZipEntries entries = zip_entries(file);
  std::string root;
  for (const auto& [name, bytes] : entries)
    if (name.ends_with("/data.pkl") && name.find('/') == name.size() - 9) root = name.substr(0, name.size() - 8);
  if (root.empty()) fail("%s: is a zip archive, but not one that torch.save wrote: it has no data.pkl", path.c_str());
  if (entries.contains(root + "constants.pkl"))
    fail(
        "%s: is a TorchScript program; save its weights alone: torch.save(torch.jit.load(file).state_dict(), "
        "\"weights.pth\")",
        path.c_str());
  const auto read = [&](const std::string& name, const ZipEntry& entry) {
    if (!entry.stored)
      fail("%s: its entry %s is compressed, which torch.save never does: unpack it and pack it with `zip -0`",
           path.c_str(), in_quotes(name).c_str());
    return std::string_view(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
  };
  if (const auto order = entries.find(root + "byteorder"); order != entries.end())
    if (read(order->first, order->second) != "little")
      fail("%s: was written on a big-endian machine, which is not supported", path.c_str());
  const Pickle pickle = read_pickle(read(root + "data.pkl", entries.at(root + "data.pkl")), kGlobals, path);
  Storages storages;
  const std::string data = root + "data/";
  for (const auto& [name, entry] : entries)
    if (name.starts_with(data)) storages.emplace(name.substr(data.size()), read(name, entry));
  TensorReader tensors(std::move(storages), file.bytes().size(), owned);
  return rebuild_all(pickle, state_dict, path, tensors);
}

// Pickles of magic number, protocol version, system info, object and storage keys; then, per key, 8 bytes of element
// count and the elements.
std::map<std::string, CheckpointTensor> read_legacy(const MappedFile& file, const std::string& state_dict,
                                                    std::deque<std::vector<std::byte>>& owned) {
  const std::string path = file.path().string();
  std::string_view rest = text_of(file);
  const auto next = [&] {
    Pickle pickle = read_pickle(rest, kGlobals, path);
    rest.remove_prefix(pickle.size);
    return pickle;
  };
  next();
  if (const Pickle version = next(); version.root->integer != 1001) malformed(path, "format version");
  const Pickle machine = next();
  for (size_t i = 1; i < machine.root->items.size(); i += 2)
    if (machine.root->items[i - 1]->text == "little_endian" && machine.root->items[i]->integer != 1)
      fail("%s: was written on a big-endian machine, which is not supported", path.c_str());
  const Pickle pickle = next();
  const Pickle keys = next();

  std::map<std::string_view, size_t> element_sizes;
  for (const PickleValue& value : pickle.values) {
    if (value.kind != Kind::Persistent) continue;
    const StorageName name = storage_name(value, path);
    if (name.is_view)
      fail(
          "%s: holds storages that are views of others, as PyTorch before 0.4 wrote them: save it again with a later "
          "one",
          path.c_str());
    element_sizes[name.key] = name.type ? element_size(*name.type) : 1;
  }
  Storages storages;
  for (const PickleValue* key : keys.root->items) {
    const auto size = element_sizes.find(key->text);
    uint64_t count = 0, bytes = 0;
    if (rest.size() >= 8) std::memcpy(&count, rest.data(), 8);
    if (size == element_sizes.end() || rest.size() < 8 || __builtin_mul_overflow(count, size->second, &bytes) ||
        bytes > rest.size() - 8)
      fail("%s: ends inside a storage: a truncated file?", path.c_str());
    storages.emplace(key->text, rest.substr(8, bytes));
    rest.remove_prefix(8 + bytes);
  }
  TensorReader tensors(std::move(storages), file.bytes().size(), owned);
  return rebuild_all(pickle, state_dict, path, tensors);
}

}  // namespace

bool looks_like_pytorch(std::string_view text) { return text.starts_with("PK\x03\x04") || is_legacy(text); }

std::map<std::string, CheckpointTensor> read_pytorch(const MappedFile& file, const std::string& state_dict,
                                                     std::deque<std::vector<std::byte>>& owned) {
  return is_legacy(text_of(file)) ? read_legacy(file, state_dict, owned) : read_zip(file, state_dict, owned);
}

}  // namespace ferry
