#include "tests/parity/checkpoint/fixture_checkpoint.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/parity/generator.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/error.h"

namespace ferry::parity {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

json read_manifest(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("%s: cannot be opened", path.c_str());
  return parse_json(std::string{std::istreambuf_iterator<char>(file), {}}, path.string());
}

uint16_t to_bfloat16(float value) {
  const uint32_t b = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}

// IEEE 754 binary16, rounded to nearest even, with subnormals; overflow is infinite.
uint16_t to_float16(float value) {
  const uint32_t b = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (b >> 16) & 0x8000;
  const uint32_t magnitude = b & 0x7fffffff;
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | (magnitude > 0x7f800000 ? 0x7e00 : 0x7c00));
  if (magnitude < 0x38800000) {
    // Below 2^-14 a float16 is a multiple of 2^-24. Adding 0.5, whose last bit is worth 2^-24, rounds to that.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> cast_to(ElementType type, const std::vector<float>& values) {
  std::vector<uint16_t> out;
  out.reserve(values.size());
  for (float v : values) out.push_back(type == ElementType::BF16 ? to_bfloat16(v) : to_float16(v));
  return bytes_of(out);
}

template <typename T>
std::vector<std::byte> constant(const json& value, size_t count) {
  return bytes_of(std::vector<T>(count, value.get<T>()));
}

class Maker {
 public:
  Maker(const fs::path& manifest, std::optional<ElementType> cast) : folder_(manifest.parent_path()), cast_(cast) {
    if (cast && *cast != ElementType::F16 && *cast != ElementType::BF16) fail("only F16 and BF16 can be cast to");
    manifest_ = read_manifest(manifest);
    if (manifest_.contains("checkpoint_of")) {
      folder_ = folder_.parent_path() / manifest_["checkpoint_of"].get<std::string>();
      manifest_ = read_manifest(folder_ / "manifest.json");
    }
    where_ = (folder_ / "manifest.json").string();
    if (fs::exists(folder_ / "consts.safetensors")) consts_ = open_checkpoint(folder_ / "consts.safetensors");
    seed_ = manifest_.at("seed").get<uint64_t>();
  }

  void write(const fs::path& out) {
    for (const json& tensor : manifest_.at("tensors"))
      if (tensor.at("kind") != "tied") add(tensor);
    write_safetensors(out, tensors_, {{"format", "pt"}});
  }

 private:
  void add(const json& rule) {
    const std::string name = rule.at("name").get<std::string>(), kind = rule.at("kind").get<std::string>();
    if (kind == "data") {
      const auto found = consts_ ? consts_->tensors().find(name) : decltype(consts_->tensors().end()){};
      if (!consts_ || found == consts_->tensors().end())
        fail("%s: tensor %s is not in consts.safetensors", where_.c_str(), name.c_str());
      CheckpointTensor tensor = found->second;
      if (tensor.type == ElementType::F32 && cast_)
        return keep(name, *cast_, tensor.shape, cast_to(*cast_, tensor.to_floats()));
      tensors_[name] = tensor;
      return;
    }
    const auto shape = rule.at("shape").get<std::vector<int64_t>>();
    CheckpointTensor sized;
    sized.shape = shape;
    const int64_t count = sized.elements();
    const std::string type = rule.at("dtype").get<std::string>();
    if (kind == "const" && type == "I64")
      return keep(name, ElementType::I64, shape, constant<int64_t>(rule.at("value"), static_cast<size_t>(count)));
    if (type != "F32")
      fail("%s: tensor %s: %s of kind %s is not known", where_.c_str(), name.c_str(), type.c_str(), kind.c_str());
    const std::vector<float> values =
        kind == "const" ? std::vector<float>(static_cast<size_t>(count), rule.at("value").get<float>())
                        : fill(fill_kind(kind, name), name, seed_, rule.at("offset").get<double>(),
                               rule.at("scale").get<double>(), count, shape.empty() ? 1 : shape[0]);
    if (cast_) return keep(name, *cast_, shape, cast_to(*cast_, values));
    keep(name, ElementType::F32, shape, bytes_of(values));
  }

  FillKind fill_kind(const std::string& kind, const std::string& name) const {
    if (kind == "uniform") return FillKind::Uniform;
    if (kind == "abs") return FillKind::Abs;
    if (kind == "centered") return FillKind::Centered;
    fail("%s: tensor %s: a rule %s is not known", where_.c_str(), name.c_str(), kind.c_str());
  }

  void keep(const std::string& name, ElementType type, const std::vector<int64_t>& shape,
            std::vector<std::byte> bytes) {
    bytes_.push_back(std::move(bytes));
    tensors_[name] = {type, shape, bytes_.back()};
  }

  fs::path folder_;
  std::optional<ElementType> cast_;
  json manifest_;
  std::string where_;
  uint64_t seed_ = 0;
  std::shared_ptr<const Checkpoint> consts_;
  std::map<std::string, CheckpointTensor> tensors_;
  std::vector<std::vector<std::byte>> bytes_;  // moving a vector keeps its bytes' address
};

}  // namespace

void make_checkpoint(const fs::path& manifest, const fs::path& out, std::optional<ElementType> cast) {
  try {
    Maker(manifest, cast).write(out);
  } catch (const json::exception& e) {
    fail("%s: %s", manifest.c_str(), e.what());
  }
}

}  // namespace ferry::parity
