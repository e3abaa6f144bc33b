#include "converter/onnx/tensor_proto.h"

#include <charconv>
#include <limits>

#include "converter/checkpoint/inside.h"
#include "converter/onnx/schema_check.h"

namespace ferry::onnx {
namespace {

namespace fs = std::filesystem;

uint64_t parse_count(const std::string& text, const char* key, const std::string& tensor) {
  uint64_t value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (bad != std::errc() || end != text.data() + text.size())
    fail("tensor '%s': its external data's %s is '%s', expected a number of bytes", tensor.c_str(), key, text.c_str());
  return value;
}

// External data must stay in the folder: neither paths nor links may lead out of it (converter/checkpoint/inside.h).
fs::path external_path(const std::string& location, const fs::path& folder, const std::string& tensor) {
  if (location.empty()) fail("tensor '%s': its external data has no location", tensor.c_str());
  const fs::path relative = fs::path(location).lexically_normal();
  if (relative.empty() || relative.is_absolute() || *relative.begin() == ".." || location.find('\0') != location.npos)
    fail("tensor '%s': its data is in '%s', outside the file's folder", tensor.c_str(), location.c_str());
  const fs::path path = folder / relative;
  std::error_code error;
  if (fs::exists(path, error)) check_inside(folder, path);  // else opening it reports the error
  return path;
}

// `want`: the tensor's size. Without a length, that many bytes of the rest of the file: other tensors may follow there.
Constant external_data(const ::onnx::TensorProto& proto, const fs::path& folder, uint64_t want) {
  std::string location;
  uint64_t offset = 0;
  uint64_t length = want;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_count(entry.value(), "offset", proto.name());
    if (entry.key() == "length") length = parse_count(entry.value(), "length", proto.name());
  }
  const auto file = MappedFile::open(external_path(location, folder, proto.name()));
  const auto all = file->bytes();
  if (offset > all.size() || length > all.size() - offset)
    fail("tensor '%s': its %llu bytes from %llu on reach past the %zu bytes of %s", proto.name().c_str(),
         static_cast<unsigned long long>(length), static_cast<unsigned long long>(offset), all.size(),
         location.c_str());
  return {file, all.subspan(offset, length)};
}

template <typename Value, typename List>
Array from_list(Type type, const Dims& dims, const List& list) {
  return make_array(type, dims, std::vector<Value>(list.begin(), list.end()));
}

// float16 is stored in int32_data as bits.
Array from_bits(Type type, const Dims& dims, const google::protobuf::RepeatedField<int32_t>& list) {
  Array bits = from_list<int64_t>(Type::UInt16, dims, list);
  bits.type = type;
  return bits;
}

// Elements of 2 or 4 bits, the first in the lowest bits of a byte, as one byte each.
Array unpacked(Type type, const Dims& dims, std::span<const std::byte> packed) {
  const auto bits = static_cast<unsigned>(type_bits(type)), each = 8 / bits;
  const bool is_signed = type == Type::Int4 || type == Type::Int2;
  auto owner = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(count_elements(dims)));
  for (size_t i = 0; i < owner->size(); ++i) {
    unsigned value = std::to_integer<unsigned>(packed[i / each]) >> (i % each * bits) & ((1u << bits) - 1);
    if (is_signed && (value >> (bits - 1)) != 0) value |= ~((1u << bits) - 1);
    (*owner)[i] = static_cast<std::byte>(value);
  }
  const std::span<const std::byte> bytes(*owner);
  return {type, dims, {std::move(owner), bytes}};
}

// Small types are stored in int32_data as bits, a byte in each number.
Array from_bytes(Type type, const Dims& dims, const google::protobuf::RepeatedField<int32_t>& list) {
  std::vector<std::byte> bytes;
  for (const int32_t value : list) bytes.push_back(static_cast<std::byte>(value));
  const auto each = static_cast<size_t>(8 / type_bits(type)), count = static_cast<size_t>(count_elements(dims));
  if (bytes.size() != (count + each - 1) / each)
    fail("%zu values for a constant of shape %s", bytes.size(), to_string(dims).c_str());
  if (each > 1) return unpacked(type, dims, bytes);
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> all(*owner);
  return {type, dims, {std::move(owner), all}};
}

Array from_fields(const ::onnx::TensorProto& proto, Type type, const Dims& dims) {
  switch (type) {
    case Type::Float32: return from_list<double>(type, dims, proto.float_data());
    case Type::Float64: return from_list<double>(type, dims, proto.double_data());
    case Type::Int64: return from_list<int64_t>(type, dims, proto.int64_data());
    case Type::UInt32:
    case Type::UInt64: return from_list<int64_t>(type, dims, proto.uint64_data());
    case Type::Float16:
    case Type::BFloat16: return from_bits(type, dims, proto.int32_data());
    default: break;
  }
  if (is_small_float(type) || type_bits(type) < 8) return from_bytes(type, dims, proto.int32_data());
  return from_list<int64_t>(type, dims, proto.int32_data());
}

}  // namespace

Array read_tensor(const ::onnx::TensorProto& proto, const fs::path& folder, std::shared_ptr<const void> owner) {
  const Type type = static_cast<Type>(proto.data_type());
  const Dims dims(proto.dims().begin(), proto.dims().end());
  const int64_t count = count_elements(dims);
  if (type_size(type) == 0)
    fail("tensor '%s' has elements of type %s, which are not supported", proto.name().c_str(), type_name(type).c_str());
  check_fields(proto);
  if (proto.has_segment()) fail("tensor '%s' is stored in segments, which are not supported", proto.name().c_str());
  const bool external = proto.data_location() == ::onnx::TensorProto::EXTERNAL;
  if (!external && !proto.has_raw_data()) {
    try {
      return from_fields(proto, type, dims);
    } catch (const Error& error) {
      fail("tensor '%s': %s", proto.name().c_str(), error.what());
    }
  }
  const uint64_t want = (static_cast<uint64_t>(count) * static_cast<uint64_t>(type_bits(type)) + 7) / 8;
  const Constant data = external ? external_data(proto, folder, want)
                                 : Constant{std::move(owner), std::as_bytes(std::span(proto.raw_data()))};
  if (data.bytes.size() != want)
    fail("tensor '%s' of shape %s has %zu bytes, expected %llu", proto.name().c_str(), to_string(dims).c_str(),
         data.bytes.size(), static_cast<unsigned long long>(want));
  if (type_bits(type) < 8) return unpacked(type, dims, data.bytes);
  return {type, dims, data};
}

void parse_message(const MappedFile& file, google::protobuf::MessageLite* message) {
  const auto bytes = file.bytes();
  const std::string name = file.path().filename().string();
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    fail("%s: has %zu bytes, protobuf ends at 2147483647: larger weights must be in external files", name.c_str(),
         bytes.size());
  if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail("%s is damaged, or not an ONNX file", name.c_str());
}

Array read_tensor_file(const fs::path& path) {
  const auto proto = std::make_shared<::onnx::TensorProto>();
  parse_message(*MappedFile::open(path), proto.get());
  return read_tensor(*proto, path.parent_path(), proto);
}

}  // namespace ferry::onnx
