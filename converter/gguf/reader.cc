#include "converter/gguf/reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "converter/checkpoint/file_checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry::gguf {
namespace {

constexpr uint64_t kMaxName = 65535;  // the specification's limit for keys; a tensor's name has at most 64 bytes
constexpr uint32_t kMaxRank = 4;      // GGML_MAX_DIMS
constexpr uint64_t kDefaultAlignment = 32, kMaxAlignment = 1 << 20;
constexpr size_t kListed = 8;  // reasons that a message lists

// gguf_metadata_value_type
enum : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };

// Smallest size of a value in the file, which bounds an array's count. 0: an unknown type.
uint64_t size_of(uint32_t type) {
  constexpr uint64_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 0, 8, 8, 8};
  return type < std::size(kSizes) ? kSizes[type] : 0;
}

class Reader {
 public:
  explicit Reader(const MappedFile& file) : path_(file.path().string()), bytes_(file.bytes()) {}

  size_t at() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }

  std::span<const std::byte> take(uint64_t size, const std::string& what) {
    if (size > left())
      fail("%s: at byte %zu, %s needs %llu bytes, but only %zu follow (a truncated download?)", path_.c_str(), at_,
           what.c_str(), static_cast<unsigned long long>(size), left());
    const auto taken = bytes_.subspan(at_, static_cast<size_t>(size));
    at_ += static_cast<size_t>(size);
    return taken;
  }

  template <typename T>
  T number(const std::string& what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }

  std::string_view text(const std::string& what) {
    const auto size = number<uint64_t>(what + "'s length");
    const auto bytes = take(size, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::string name(const std::string& what) {
    const size_t begin = at_;
    const std::string_view read = text(what);
    if (read.empty() || read.size() > kMaxName)
      fail("%s: at byte %zu, %s has %zu bytes, expected 1 to %llu", path_.c_str(), begin, what.c_str(), read.size(),
           static_cast<unsigned long long>(kMaxName));
    return std::string(read);
  }

  double scalar(uint32_t type, const std::string& what) {
    switch (type) {
      case kU8: return number<uint8_t>(what);
      case kI8: return number<int8_t>(what);
      case kU16: return number<uint16_t>(what);
      case kI16: return number<int16_t>(what);
      case kU32: return number<uint32_t>(what);
      case kI32: return number<int32_t>(what);
      case kF32: return decimal_of(number<float>(what));
      case kBool: return number<uint8_t>(what) != 0 ? 1 : 0;
      case kU64: return static_cast<double>(number<uint64_t>(what));
      case kI64: return static_cast<double>(number<int64_t>(what));
      case kF64: return number<double>(what);
      default: fail("%s: at byte %zu, %s has the unknown type %u", path_.c_str(), at_, what.c_str(), type);
    }
  }

  Value value(const std::string& what) {
    const auto type = number<uint32_t>(what + "'s type");
    Value out;
    if (type == kString) {
      out.kind = Value::Kind::Text;
      out.text = text(what);
    } else if (type != kArray) {
      out.kind = type == kBool ? Value::Kind::Flag : Value::Kind::Number;
      out.number = scalar(type, what);
    } else {
      read_array(what, &out);
    }
    return out;
  }

 private:
  void read_array(const std::string& what, Value* out) {
    const size_t begin = at_;
    const auto type = number<uint32_t>(what + "'s type of elements");
    const auto count = number<uint64_t>(what + "'s count");
    if (type == kArray) fail("%s: at byte %zu, %s is an array of arrays", path_.c_str(), begin, what.c_str());
    if (size_of(type) == 0)
      fail("%s: at byte %zu, %s is an array of the unknown type %u", path_.c_str(), begin, what.c_str(), type);
    if (count > left() / size_of(type))
      fail("%s: at byte %zu, %s would have %llu elements, but only %zu bytes follow (a truncated download?)",
           path_.c_str(), begin, what.c_str(), static_cast<unsigned long long>(count), left());
    out->kind = type == kString ? Value::Kind::Texts : type == kBool ? Value::Kind::Flags : Value::Kind::Numbers;
    if (type == kString)
      out->texts.reserve(static_cast<size_t>(count));
    else
      out->numbers.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; ++i) {
      if (type == kString)
        out->texts.push_back(text(what));
      else
        out->numbers.push_back(scalar(type, what));
    }
  }

  std::string path_;
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

struct Described {
  std::string name;
  std::vector<int64_t> shape;
  uint32_t type = 0;
  uint64_t offset = 0;
};

// Bytes of a tensor; 0 with a reason if its shape and type do not fit.
uint64_t bytes_of(const Described& tensor, const BlockType& type, std::string* reason) {
  uint64_t count = 1;
  for (const int64_t d : tensor.shape)
    if (d < 1 || __builtin_mul_overflow(count, static_cast<uint64_t>(d), &count) || count >> 56 != 0) {
      *reason = "has the shape " + shape_text(tensor.shape);
      return 0;
    }
  const int64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % type.numbers != 0) {
    *reason = "has rows of " + std::to_string(row) + " numbers, no multiple of a block of " + type.name + " (" +
              std::to_string(type.numbers) + ")";
    return 0;
  }
  return count / type.numbers * type.bytes;
}

Described read_description(Reader& in, const std::string& path, uint64_t index) {
  Described out;
  const std::string nth = "the name of tensor " + std::to_string(index);
  out.name = in.name(nth);
  const std::string what = "tensor " + in_quotes(out.name);
  const size_t at = in.at();
  const auto rank = in.number<uint32_t>(what + "'s rank");
  if (rank > kMaxRank)
    fail("%s: at byte %zu, %s has %u dimensions, at most %u are allowed", path.c_str(), at, what.c_str(), rank,
         kMaxRank);
  for (uint32_t d = 0; d < rank; ++d) {
    const auto size = in.number<uint64_t>(what + "'s shape");
    out.shape.insert(out.shape.begin(), size > INT64_MAX ? -1 : static_cast<int64_t>(size));
  }
  out.type = in.number<uint32_t>(what + "'s type");
  out.offset = in.number<uint64_t>(what + "'s offset");
  return out;
}

// What is wrong with a tensor; empty if nothing. Sets its type and bytes.
std::string place(const Described& described, std::span<const std::byte> data, uint64_t alignment, Tensor* out) {
  out->type = block_type(described.type);
  if (!out->type) {
    const std::string_view name = unread_type(described.type);
    return "is of type " + (name.empty() ? std::to_string(described.type) : std::string(name)) +
           ", which Ferry does not read (known: " + known_types() + ")";
  }
  std::string reason;
  const uint64_t size = bytes_of(described, *out->type, &reason);
  if (!reason.empty()) return reason;
  if (described.offset % alignment != 0)
    return "begins at " + std::to_string(described.offset) + ", no multiple of the alignment " +
           std::to_string(alignment);
  if (described.offset > data.size() || size > data.size() - described.offset)
    return "of " + std::to_string(size) + " bytes at " + std::to_string(described.offset) + " lies outside the " +
           std::to_string(data.size()) + " bytes of data (a truncated download?)";
  out->bytes = data.subspan(static_cast<size_t>(described.offset), static_cast<size_t>(size));
  return {};
}

void check_overlap(const std::map<std::string, Tensor>& tensors, std::vector<std::string>* reasons) {
  std::vector<std::pair<std::span<const std::byte>, const std::string*>> placed;
  for (const auto& [name, tensor] : tensors)
    if (!tensor.bytes.empty()) placed.emplace_back(tensor.bytes, &name);
  std::sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first.data() < b.first.data(); });
  for (size_t i = 1; i < placed.size(); ++i)
    if (placed[i].first.data() < placed[i - 1].first.data() + placed[i - 1].first.size())
      reasons->push_back("tensors " + in_quotes(*placed[i - 1].second) + " and " + in_quotes(*placed[i].second) +
                         " overlap");
}

uint64_t alignment_of(const File& file, const std::string& path) {
  const auto found = file.metadata.find("general.alignment");
  if (found == file.metadata.end()) return kDefaultAlignment;
  const double said = found->second.number;
  const bool whole = found->second.kind == Value::Kind::Number && said >= 8 && said <= kMaxAlignment;
  const auto alignment = whole ? static_cast<uint64_t>(said) : 0;
  if (alignment == 0 || alignment % 8 != 0 || static_cast<double>(alignment) != said)
    fail("%s: general.alignment is %g, expected a multiple of 8 up to %llu", path.c_str(), said,
         static_cast<unsigned long long>(kMaxAlignment));
  return alignment;
}

}  // namespace

double decimal_of(float value) {
  char text[32];
  *std::to_chars(text, std::end(text) - 1, value).ptr = '\0';
  return std::isfinite(value) ? std::strtod(text, nullptr) : static_cast<double>(value);
}

File read_file(const MappedFile& mapped) {
  const std::string path = mapped.path().string();
  Reader in(mapped);
  in.take(4, "the magic number");
  const auto version = in.number<uint32_t>("the version");
  if (version >> 16 != 0 && (version & 0xFFFF) == 0)
    fail("%s: is a big-endian GGUF file, expected a little-endian one", path.c_str());
  if (version != 2 && version != 3) fail("%s: is GGUF version %u, expected 2 or 3", path.c_str(), version);
  const auto tensors = in.number<uint64_t>("the number of tensors");
  const auto values = in.number<uint64_t>("the number of metadata values");
  // The shortest descriptions: a name of one byte, and a value of one byte or no dimensions.
  constexpr uint64_t kSmallestTensor = 8 + 1 + 4 + 4 + 8, kSmallestValue = 8 + 1 + 4 + 1;
  if (tensors > in.left() / kSmallestTensor || values > in.left() / kSmallestValue)
    fail("%s: would hold %llu tensors and %llu metadata values, but only %zu bytes follow (a truncated download?)",
         path.c_str(), static_cast<unsigned long long>(tensors), static_cast<unsigned long long>(values), in.left());
  File out;
  for (uint64_t i = 0; i < values; ++i) {
    const std::string key = in.name("the key of metadata value " + std::to_string(i));
    Value value = in.value(in_quotes(key));
    if (!out.metadata.emplace(key, std::move(value)).second)
      fail("%s: the metadata has the key %s twice", path.c_str(), in_quotes(key).c_str());
  }
  const uint64_t alignment = alignment_of(out, path);
  std::vector<Described> described;
  for (uint64_t i = 0; i < tensors; ++i) described.push_back(read_description(in, path, i));
  const size_t begin = (in.at() + alignment - 1) / alignment * alignment;
  const auto data = mapped.bytes().subspan(std::min(begin, mapped.bytes().size()));

  std::vector<std::string> reasons;
  for (const Described& one : described) {
    Tensor tensor{.shape = one.shape, .bytes = {}, .where = path + ": tensor " + in_quotes(one.name)};
    if (std::string reason = place(one, data, alignment, &tensor); !reason.empty())
      reasons.push_back("tensor " + in_quotes(one.name) + " " + reason);
    if (!out.tensors.emplace(one.name, std::move(tensor)).second)
      reasons.push_back("there are two tensors " + in_quotes(one.name));
  }
  check_overlap(out.tensors, &reasons);
  if (reasons.empty()) return out;
  std::string all;
  for (size_t i = 0; i < std::min(reasons.size(), kListed); ++i) all += (i > 0 ? "; " : "") + reasons[i];
  if (reasons.size() > kListed) all += "; and " + std::to_string(reasons.size() - kListed) + " more";
  fail("%s: %s", path.c_str(), all.c_str());
}

}  // namespace ferry::gguf
