#include "converter/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/write_file.h"

namespace ferry {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxHeader = 100'000'000;  // the limit of the reference implementation
constexpr ElementType kTypes[] = {ElementType::F64,     ElementType::F32,     ElementType::F16,     ElementType::BF16,
                                  ElementType::F8_E4M3, ElementType::F8_E5M2, ElementType::F8_E8M0, ElementType::I64,
                                  ElementType::I32,     ElementType::I16,     ElementType::I8,      ElementType::U64,
                                  ElementType::U32,     ElementType::U16,     ElementType::U8,      ElementType::Bool};

struct Entry {
  uint64_t begin, end;
  const std::string* name;
};

ElementType parse_type(const json& value, const std::string& where) {
  if (!value.is_string()) fail("%s: has no \"dtype\" string", where.c_str());
  const auto& name = value.get_ref<const std::string&>();
  for (ElementType type : kTypes)
    if (name == element_name(type)) return type;
  std::string known;
  for (ElementType type : kTypes) known += std::string(known.empty() ? "" : " ") + element_name(type);
  fail("%s: has the unknown dtype %s (known: %s)", where.c_str(), in_quotes(name).c_str(), known.c_str());
}

std::vector<int64_t> parse_shape(const json& value, const std::string& where) {
  if (!value.is_array()) fail("%s: has no \"shape\" list", where.c_str());
  std::vector<int64_t> shape;
  for (const json& d : value) {
    if (!d.is_number_unsigned() || d.get<uint64_t>() > std::numeric_limits<int64_t>::max())
      fail("%s: shape %s holds something other than sizes", where.c_str(), value.dump().c_str());
    shape.push_back(d.get<int64_t>());
  }
  return shape;
}

json member(const json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? json() : *it;
}

CheckpointTensor parse_tensor(const json& value, std::span<const std::byte> data, const std::string& where,
                              Entry* entry) {
  if (!value.is_object()) fail("%s: is not described by a JSON object", where.c_str());
  CheckpointTensor tensor;
  tensor.type = parse_type(member(value, "dtype"), where);
  tensor.shape = parse_shape(member(value, "shape"), where);
  const json offsets = member(value, "data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    fail("%s: has no \"data_offsets\" of two numbers", where.c_str());
  entry->begin = offsets[0].get<uint64_t>();
  entry->end = offsets[1].get<uint64_t>();
  if (entry->begin > entry->end || entry->end > data.size())
    fail("%s: data_offsets [%llu,%llu] lie outside the file's %zu bytes of data (a truncated download?)", where.c_str(),
         static_cast<unsigned long long>(entry->begin), static_cast<unsigned long long>(entry->end), data.size());
  tensor.bytes = data.subspan(entry->begin, entry->end - entry->begin);
  const auto want = tensor_bytes(tensor.type, tensor.shape);
  if (!want) fail("%s: shape %s is too large", where.c_str(), shape_text(tensor.shape).c_str());
  if (*want != tensor.bytes.size())
    fail("%s: shape %s of %s needs %zu bytes, data_offsets give %zu", where.c_str(), shape_text(tensor.shape).c_str(),
         element_name(tensor.type), *want, tensor.bytes.size());
  return tensor;
}

// The format allows neither overlapping tensors nor gaps.
void check_cover(std::vector<Entry> entries, uint64_t size, const std::string& path) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  uint64_t at = 0;
  const std::string* last = nullptr;
  for (const Entry& e : entries) {
    if (e.begin < at)
      fail("%s: tensors %s and %s overlap", path.c_str(), in_quotes(*last).c_str(), in_quotes(*e.name).c_str());
    if (e.begin > at)
      fail("%s: %llu bytes before tensor %s belong to no tensor", path.c_str(),
           static_cast<unsigned long long>(e.begin - at), in_quotes(*e.name).c_str());
    at = e.end;
    last = e.name;
  }
  if (at != size)
    fail("%s: the last %llu bytes belong to no tensor", path.c_str(), static_cast<unsigned long long>(size - at));
}

}  // namespace

std::map<std::string, CheckpointTensor> read_safetensors(const MappedFile& file) {
  const std::string path = file.path().string();
  const auto bytes = file.bytes();
  if (bytes.size() < 8)
    fail("%s: is %zu bytes long; a safetensors file begins with 8 bytes of header length", path.c_str(), bytes.size());
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  if (length > bytes.size() - 8)
    fail("%s: its header would be %llu bytes long, but only %zu follow: truncated, or not a safetensors file",
         path.c_str(), static_cast<unsigned long long>(length), bytes.size() - 8);
  if (length > kMaxHeader)
    fail("%s: its header is %llu bytes long; at most %llu are allowed", path.c_str(),
         static_cast<unsigned long long>(length), static_cast<unsigned long long>(kMaxHeader));
  const json header = parse_json(text_of(file).substr(8, length), path + ": the safetensors header");
  if (!header.is_object()) fail("%s: the safetensors header is not a JSON object", path.c_str());

  const auto data = bytes.subspan(8 + length);
  std::map<std::string, CheckpointTensor> tensors;
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") continue;
    Entry entry{};
    const auto it =
        tensors.emplace(name, parse_tensor(value, data, path + ": tensor " + in_quotes(name), &entry)).first;
    entry.name = &it->first;
    entries.push_back(entry);
  }
  check_cover(std::move(entries), data.size(), path);
  return tensors;
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, CheckpointTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  static_assert(std::endian::native == std::endian::little, "tensors are written as they lie in memory");
  // Keys are written in the order of the safetensors packages, so that equal tensors produce equal files.
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto want = tensor_bytes(tensor.type, tensor.shape);
    if (!want || *want != tensor.bytes.size())
      fail("%s: tensor %s of shape %s has %zu bytes", path.c_str(), in_quotes(name).c_str(),
           shape_text(tensor.shape).c_str(), tensor.bytes.size());
    header[name] = {{"dtype", element_name(tensor.type)},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump(-1, ' ', true);
  text.append((8 - text.size() % 8) % 8, ' ');  // aligns the data

  NewFile file;
  or_fail(file.open(path.string()));
  const uint64_t length = text.size();
  or_fail(file.write(std::as_bytes(std::span(&length, 1))));
  or_fail(file.write(std::as_bytes(std::span(text))));
  for (const auto& [name, tensor] : tensors) or_fail(file.write(tensor.bytes));
  or_fail(file.keep());
}

}  // namespace ferry
