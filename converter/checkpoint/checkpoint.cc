#include "converter/checkpoint/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/pytorch.h"
#include "converter/checkpoint/sharded.h"
#include "converter/checkpoint/tensorflowjs.h"
#include "converter/error.h"
#include "converter/foreign.h"
#include "sdk/model/elements.h"

namespace ferry {
namespace {

namespace fs = std::filesystem;

struct Float16 {
  uint16_t bits;
  explicit operator float() const { return from_float16(bits); }
  explicit operator double() const { return static_cast<double>(from_float16(bits)); }
};

struct BFloat {
  uint16_t bits;
  explicit operator float() const { return from_bfloat16(bits); }
  explicit operator double() const { return static_cast<double>(from_bfloat16(bits)); }
};

template <typename From, typename To>
std::vector<To> widen(std::span<const std::byte> bytes) {
  std::vector<To> out(bytes.size() / sizeof(From));
  for (size_t i = 0; i < out.size(); ++i) {
    From value;
    std::memcpy(&value, bytes.data() + i * sizeof(From), sizeof(From));
    out[i] = static_cast<To>(value);
  }
  return out;
}

template <typename To>
std::vector<To> convert(const CheckpointTensor& t) {
  switch (t.type) {
    case ElementType::F64: return widen<double, To>(t.bytes);
    case ElementType::F32: return widen<float, To>(t.bytes);
    case ElementType::F16: return widen<Float16, To>(t.bytes);
    case ElementType::BF16: return widen<BFloat, To>(t.bytes);
    case ElementType::I64: return widen<int64_t, To>(t.bytes);
    case ElementType::I32: return widen<int32_t, To>(t.bytes);
    case ElementType::I16: return widen<int16_t, To>(t.bytes);
    case ElementType::I8: return widen<int8_t, To>(t.bytes);
    case ElementType::U8: return widen<uint8_t, To>(t.bytes);
    case ElementType::Bool: {
      auto out = widen<uint8_t, To>(t.bytes);
      for (To& value : out) value = value != 0;
      return out;
    }
  }
  return {};
}

uint64_t header_length(std::string_view text) {
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= static_cast<uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
  return length;
}

constexpr uint64_t kLongestHeader = 100'000'000;  // of safetensors; what is longer is another format's magic number

// The reference layout: header length, then '{'. Judged first, since a length may look like any magic number. A
// truncated file looks so, too: its reader describes what is missing.
bool looks_like_safetensors(std::string_view text) {
  return text.size() > 8 && text[8] == '{' &&
         (header_length(text) <= text.size() - 8 || header_length(text) <= kLongestHeader);
}

// A header may begin with white space, or be damaged. Zeros are no header.
bool may_be_safetensors(std::string_view text) {
  return text.size() >= 8 && header_length(text) > 0 && header_length(text) <= kLongestHeader;
}

bool looks_like_json(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != text.npos && text[first] == '{';
}

fs::path find_in_folder(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    files.push_back(it->path().filename().string());
  if (error) fail("%s: cannot be read: %s", folder.c_str(), error.message().c_str());
  return folder / choose_checkpoint(files, folder.string());
}

}  // namespace

size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::F64:
    case ElementType::I64: return 8;
    case ElementType::F32:
    case ElementType::I32: return 4;
    case ElementType::F16:
    case ElementType::BF16:
    case ElementType::I16: return 2;
    case ElementType::I8:
    case ElementType::U8:
    case ElementType::Bool: return 1;
  }
  return 0;
}

const char* element_name(ElementType type) {
  switch (type) {
    case ElementType::F64: return "F64";
    case ElementType::F32: return "F32";
    case ElementType::F16: return "F16";
    case ElementType::BF16: return "BF16";
    case ElementType::I64: return "I64";
    case ElementType::I32: return "I32";
    case ElementType::I16: return "I16";
    case ElementType::I8: return "I8";
    case ElementType::U8: return "U8";
    case ElementType::Bool: return "BOOL";
  }
  return "?";
}

int64_t CheckpointTensor::elements() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::vector<float> CheckpointTensor::to_floats() const { return convert<float>(*this); }
std::vector<double> CheckpointTensor::to_doubles() const { return convert<double>(*this); }

std::string choose_checkpoint(const std::vector<std::string>& files, const std::string& where) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json", "model.json"})
    if (std::find(files.begin(), files.end(), name) != files.end()) return name;
  std::vector<std::string> safetensors, pytorch, hdf5;
  for (const std::string& file : files) {
    if (file.find('/') != file.npos) continue;
    const std::string extension = fs::path(file).extension().string();
    if (extension == ".safetensors") safetensors.push_back(file);
    if (extension == ".pth" || extension == ".pt") pytorch.push_back(file);
    if (extension == ".h5") hdf5.push_back(file);  // opening it reports the right error
  }
  for (auto* found : {&safetensors, &pytorch, &hdf5}) {
    if (found->size() == 1) return found->front();
    if (found->size() > 1)
      fail("%s: holds %zu checkpoints; name one of them, for example %s", where.c_str(), found->size(),
           std::min_element(found->begin(), found->end())->c_str());
  }
  fail("%s: holds no checkpoint (model.safetensors, pytorch_model.bin, the index of either, or model.json)",
       where.c_str());
}

bool looks_like_checkpoint(const MappedFile& file) {
  const std::string_view text = text_of(file);
  if (looks_like_safetensors(text)) return true;
  return describe_foreign(file).empty() &&
         (looks_like_pytorch(text) || may_be_safetensors(text) || looks_like_json(text));
}

std::shared_ptr<const Checkpoint> open_checkpoint(const fs::path& path, const std::string& state_dict) {
  std::error_code error;
  if (fs::is_directory(path, error)) return open_checkpoint(find_in_folder(path), state_dict);
  auto file = MappedFile::open(path);
  const std::string_view text = text_of(*file);
  if (looks_like_safetensors(text)) return open_single(std::move(file), state_dict);
  if (const std::string foreign = describe_foreign(*file); !foreign.empty())
    fail("%s: %s", path.c_str(), foreign.c_str());
  if (looks_like_pytorch(text) || may_be_safetensors(text)) return open_single(std::move(file), state_dict);
  if (!looks_like_json(text))
    fail("%s: is no checkpoint that Ferry reads (safetensors, PyTorch, TensorFlow.js), or a damaged one", path.c_str());
  const nlohmann::json root = parse_json(text, path.string());
  if (root.contains("weight_map")) return open_sharded(std::move(file), root, state_dict);
  if (root.contains("weightsManifest")) return open_tensorflowjs(std::move(file));
  fail("%s: is JSON, but has neither \"weight_map\" nor \"weightsManifest\" at its top", path.c_str());
}

}  // namespace ferry
