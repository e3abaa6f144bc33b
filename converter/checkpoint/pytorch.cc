#include "converter/checkpoint/pytorch.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/state_dict.h"
#include "converter/checkpoint/zip.h"
#include "converter/error.h"

namespace ferry {
namespace {

using Kind = PickleValue::Kind;

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
    {"", "torch.float8_e4m3fn", ElementType::F8_E4M3},  // without a typed storage
    {"", "torch.float8_e5m2", ElementType::F8_E5M2},
    {"", "torch.float8_e8m0fnu", ElementType::F8_E8M0},
    {"", "torch.uint64", ElementType::U64},
    {"", "torch.uint32", ElementType::U32},
    {"", "torch.uint16", ElementType::U16},
};

// NumPy's names of types in dtype(...): a kind and a size in bytes.
constexpr struct {
  std::string_view name;
  ElementType type;
} kArrayTypes[] = {{"f8", ElementType::F64}, {"f4", ElementType::F32}, {"f2", ElementType::F16},
                   {"i8", ElementType::I64}, {"i4", ElementType::I32}, {"i2", ElementType::I16},
                   {"i1", ElementType::I8},  {"u8", ElementType::U64}, {"u4", ElementType::U32},
                   {"u2", ElementType::U16}, {"u1", ElementType::U8},  {"b1", ElementType::Bool}};

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
  CheckpointTensor rebuild_tensor(const std::vector<const PickleValue*>& arguments, bool typed,
                                  const std::string& where);
  CheckpointTensor rebuild_array(const PickleValue& call, const std::string& where);
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

[[noreturn]] void unsupported(const std::string& where, std::string_view function) {
  fail("%s: is made by %s, which is not supported: only plain tensors, parameters and NumPy arrays are", where.c_str(),
       std::string(function).c_str());
}

CheckpointTensor TensorReader::rebuild(const PickleValue& call, const std::string& where) {
  const auto& a = call.items;
  const std::string_view function = call.text.substr(call.text.rfind('.') + 1);
  if (function == "_reconstruct") return rebuild_array(call, where);
  if (function == "_rebuild_from_type_v2") {  // (function, class, its arguments, attributes)
    if (a.size() < 3 || a[0]->kind != Kind::Global || a[2]->kind != Kind::Tuple) malformed(where, "tensor");
    const PickleValue inner{.kind = Kind::Call, .text = a[0]->text, .items = a[2]->items};
    if (!is_tensor(inner) || inner.text == call.text) unsupported(where, a[0]->text);
    return rebuild(inner, where);
  }
  if (function == "_rebuild_parameter" ||
      function == "_rebuild_parameter_with_state") {  // (tensor, requires_grad, ...)
    if (a.empty() || !is_tensor(*a[0]) || a[0]->text.find("_rebuild_tensor") == a[0]->text.npos)
      malformed(where, "parameter");
    return rebuild(*a[0], where);
  }
  const bool typed = function == "_rebuild_tensor_v3";
  if (!typed && function != "_rebuild_tensor" && function != "_rebuild_tensor_v2") unsupported(where, call.text);
  return rebuild_tensor(a, typed, where);
}

// Bytes in a pickle. Protocol 2 has them as text, each byte a code point up to U+00FF: _codecs.encode(text, "latin1").
std::optional<std::vector<std::byte>> bytes_of(const PickleValue& value) {
  const auto as_bytes = [](std::string_view text) {
    const auto all = std::as_bytes(std::span(text.data(), text.size()));
    return std::vector<std::byte>(all.begin(), all.end());
  };
  if (value.kind == Kind::Bytes) return as_bytes(value.text);
  if (value.kind != Kind::Call || value.text != "_codecs.encode" || value.items.empty() ||
      value.items[0]->kind != Kind::Text)
    return {};
  std::vector<std::byte> out;
  const std::string_view text = value.items[0]->text;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      out.push_back(static_cast<std::byte>(first));
      continue;
    }
    if ((first != 0xc2 && first != 0xc3) || i + 1 == text.size()) return {};
    out.push_back(static_cast<std::byte>((first & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3f)));
  }
  return out;
}

// NumPy's _reconstruct(class, shape, type), whose state is (version, shape, dtype, is column-major, bytes). The dtype
// is dtype(name, ...), whose state begins (version, byte order, ...).
CheckpointTensor TensorReader::rebuild_array(const PickleValue& call, const std::string& where) {
  const PickleValue* state = call.state;
  if (!state || state->kind != Kind::Tuple || state->items.size() != 5) malformed(where, "array");
  const PickleValue &dtype = *state->items[2], &columns = *state->items[3];
  if (dtype.kind != Kind::Call || dtype.text != "numpy.dtype" || dtype.items.empty() ||
      dtype.items[0]->kind != Kind::Text || columns.kind != Kind::Bool)
    malformed(where, "array");
  CheckpointTensor out{.type = ElementType::F32, .shape = numbers(*state->items[1], where, "shape"), .bytes = {}};
  const std::string_view name = dtype.items[0]->text;
  const auto* known =
      std::find_if(std::begin(kArrayTypes), std::end(kArrayTypes), [&](const auto& row) { return row.name == name; });
  const bool swapped = dtype.state && dtype.state->items.size() > 1 && dtype.state->items[1]->text == ">";
  if (known == std::end(kArrayTypes) || swapped)
    fail("%s: is a NumPy array of type %s%s, expected little-endian elements of a plain type", where.c_str(),
         swapped ? ">" : "", std::string(name).c_str());
  out.type = known->type;
  auto bytes = bytes_of(*state->items[4]);
  if (!bytes || tensor_bytes(out.type, out.shape) != bytes->size()) malformed(where, "array");
  const std::span<const std::byte> stored = owned_.emplace_back(std::move(*bytes));
  out.bytes = stored;
  if (columns.integer == 0 || stored.empty()) return out;
  std::vector<int64_t> strides;  // column-major
  for (int64_t stride = 1; const int64_t side : out.shape) strides.push_back(std::exchange(stride, stride * side));
  out.bytes = contiguous(stored, out.shape, strides, element_size(out.type), stored.size(), where);
  return out;
}

// (storage, offset, size, stride, ...); of version 3 (`typed`), the dtype follows requires_grad and hooks.
CheckpointTensor TensorReader::rebuild_tensor(const std::vector<const PickleValue*>& a, bool typed,
                                              const std::string& where) {
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
                                                    const std::string& path, TensorReader& tensors,
                                                    std::vector<std::string>& notes) {
  std::map<std::string, CheckpointTensor> out;
  const StateDict found = find_state_dict(*pickle.root, state_dict, path);
  if (!found.note.empty()) notes.push_back(found.note);
  for (const auto& [name, call] : found.tensors) {
    const std::string where = path + ": tensor " + in_quotes(name);
    if (!out.emplace(name, tensors.rebuild(*call, where)).second) fail("%s: appears twice", where.c_str());
  }
  return out;
}

// ARCHIVE/data.pkl, ARCHIVE/data/0, ARCHIVE/data/1...
std::map<std::string, CheckpointTensor> read_zip(const MappedFile& file, const std::string& state_dict,
                                                 std::deque<std::vector<std::byte>>& owned,
                                                 std::vector<std::string>& notes) {
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
  const Pickle pickle = read_pickle(read(root + "data.pkl", entries.at(root + "data.pkl")), path);
  Storages storages;
  const std::string data = root + "data/";
  for (const auto& [name, entry] : entries)
    if (name.starts_with(data)) storages.emplace(name.substr(data.size()), read(name, entry));
  TensorReader tensors(std::move(storages), file.bytes().size(), owned);
  return rebuild_all(pickle, state_dict, path, tensors, notes);
}

// Pickles of magic number, protocol version, system info, object and storage keys; then, per key, 8 bytes of element
// count and the elements.
std::map<std::string, CheckpointTensor> read_legacy(const MappedFile& file, const std::string& state_dict,
                                                    std::deque<std::vector<std::byte>>& owned,
                                                    std::vector<std::string>& notes) {
  const std::string path = file.path().string();
  std::string_view rest = text_of(file);
  const auto next = [&] {
    Pickle pickle = read_pickle(rest, path);
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
    if (!value.items.empty() && value.items[0]->text == "module") continue;  // the source of a class
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
  return rebuild_all(pickle, state_dict, path, tensors, notes);
}

}  // namespace

bool looks_like_pytorch(std::string_view text) { return text.starts_with("PK\x03\x04") || is_legacy(text); }

std::map<std::string, CheckpointTensor> read_pytorch(const MappedFile& file, const std::string& state_dict,
                                                     std::deque<std::vector<std::byte>>& owned,
                                                     std::vector<std::string>& notes) {
  return is_legacy(text_of(file)) ? read_legacy(file, state_dict, owned, notes)
                                  : read_zip(file, state_dict, owned, notes);
}

}  // namespace ferry
