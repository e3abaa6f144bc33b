#include "converter/text/huggingface/charsmap.h"

#include <cstdint>
#include <cstring>

#include "converter/error.h"

namespace ferry {
namespace {

// Limits against hostile arrays, in which many paths may share nodes: a valid array has one path per key. nmt_nfkc_cf
// of SentencePiece has 226,038 keys in 263,382 nodes with up to 255 children each.
constexpr size_t kMaxVisits = size_t{1} << 27, kMaxKeys = size_t{1} << 19, kMaxKeyBytes = 256;
constexpr size_t kMaxBytes = size_t{1} << 26;  // of all keys and texts

class DoubleArray {
 public:
  DoubleArray(std::string_view bytes, const std::string& where) : where_(where) {
    uint32_t size = 0;
    if (bytes.size() >= sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
    if (size == 0 || size % 4 != 0 || size > bytes.size() - sizeof size)
      fail("%s: its charsmap of %zu bytes has no array", where.c_str(), bytes.size());
    units_.resize(size / 4);
    std::memcpy(units_.data(), bytes.data() + sizeof size, size);
    texts_ = bytes.substr(sizeof size + size);
  }

  Mapping all() {
    visit(offset(units_[0]));
    return std::move(found_);
  }

 private:
  static size_t offset(uint32_t unit) { return size_t{unit >> 10} << ((unit & 1u << 9) >> 6); }
  static uint32_t label(uint32_t unit) { return unit & (1u << 31 | 0xFF); }
  static bool has_leaf(uint32_t unit) { return unit >> 8 & 1; }

  // Visits the children of the node at index `node`.
  void visit(size_t node) {
    if (key_.size() == kMaxKeyBytes)
      fail("%s: its charsmap has a key of more than %zu bytes", where_.c_str(), kMaxKeyBytes);
    for (uint32_t byte = 1; byte < 256; ++byte) {
      if (++visits_ > kMaxVisits || found_.size() > kMaxKeys) fail("%s: its charsmap has no end", where_.c_str());
      const size_t at = node ^ byte;
      if (at >= units_.size() || label(units_[at]) != byte) continue;
      const size_t child = at ^ offset(units_[at]);
      key_ += static_cast<char>(byte);
      if (has_leaf(units_[at])) {
        if (child >= units_.size())
          fail("%s: its charsmap refers to unit %zu of %zu", where_.c_str(), child, units_.size());
        add(units_[child] & ~(1u << 31));
      }
      visit(child);
      key_.pop_back();
    }
  }

  void add(size_t text) {
    const size_t end = texts_.find('\0', text);
    if (text > texts_.size() || end == std::string_view::npos)
      fail("%s: its charsmap refers to text %zu of %zu bytes", where_.c_str(), text, texts_.size());
    bytes_ += key_.size() + (end - text);
    if (bytes_ > kMaxBytes)
      fail("%s: its charsmap has keys and texts of more than %zu bytes", where_.c_str(), kMaxBytes);
    found_.emplace_back(key_, texts_.substr(text, end - text));
  }

  const std::string& where_;
  std::vector<uint32_t> units_;
  std::string_view texts_;
  std::string key_;
  Mapping found_;
  size_t visits_ = 0, bytes_ = 0;
};

}  // namespace

Mapping read_charsmap(std::string_view bytes, const std::string& where) { return DoubleArray(bytes, where).all(); }

}  // namespace ferry
