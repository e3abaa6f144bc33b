#include "converter/text/huggingface/tokenizer_json.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry::huggingface {
namespace {

using nlohmann::json;

constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxBytes = size_t{1} << 28;

// Parses a fraction like serde_json, the library's parser of scores: the digits as an integer, times or divided by a
// power of ten. The result may differ from the nearest double by one unit in the last place, which decides among pieces
// of equal scores.
double as_serde_reads(const std::string& text) {
  uint64_t digits = 0;
  int exponent = 0;
  size_t at = text[0] == '-' ? 1 : 0;
  bool fraction = false, full = false;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    const auto digit = static_cast<uint64_t>(text[at] - '0');
    full = full || digits > (UINT64_MAX - digit) / 10;
    if (!full) digits = digits * 10 + digit;
    exponent += full ? (fraction ? 0 : 1) : (fraction ? -1 : 0);
  }
  if (at < text.size())
    exponent += static_cast<int>(std::clamp(std::strtol(text.c_str() + at + 1, nullptr, 10), -100000l, 100000l));
  auto value = static_cast<double>(digits);
  for (; exponent < -308; exponent += 308) value /= 1e308;
  value = exponent < 0 ? value / std::pow(10.0, -exponent) : value * std::pow(10.0, exponent);
  return text[0] == '-' ? -value : value;
}

// Receives the events of nlohmann's SAX parser.
class Handler {
 public:
  using number_integer_t = json::number_integer_t;
  using number_unsigned_t = json::number_unsigned_t;
  using number_float_t = json::number_float_t;
  using string_t = json::string_t;
  using binary_t = json::binary_t;

  Handler(TokenizerJson* out, std::string where) : out_(out), where_(std::move(where)) {}

  bool null() { return value(nullptr); }
  bool boolean(bool v) { return value(v); }
  bool number_integer(number_integer_t v) { return number(v, static_cast<double>(v)); }
  bool number_unsigned(number_unsigned_t v) { return number(v, static_cast<double>(v)); }
  bool number_float(number_float_t v, const string_t& text) { return number(v, as_serde_reads(text)); }
  bool binary(binary_t&) { return false; }
  bool string(string_t& v) {
    switch (list_) {
      case List::None: return value(std::move(v));
      case List::Scored:
        if (inner_ != 1) bad_vocabulary();
        key_ = std::move(v);
        ++inner_;
        return true;
      case List::Merges: return merge(std::move(v));
      case List::Ids: break;
    }
    bad_vocabulary();
  }
  bool key(string_t& v) {
    key_ = std::move(v);
    return true;
  }
  bool start_object(size_t) {
    if (list_ != List::None) bad_vocabulary();
    if (in_model() && key_ == "vocab") return begin(List::Ids, &out_->has_vocabulary);
    return open(json::object());
  }
  bool end_object() { return end(); }
  bool start_array(size_t) {
    if (list_ == List::Scored || list_ == List::Merges) {
      if (inner_ != 0) bad_vocabulary();
      inner_ = 1;
      return true;
    }
    if (list_ == List::Ids) bad_vocabulary();
    if (in_model() && key_ == "vocab") {
      out_->scored = true;
      return begin(List::Scored, &out_->has_vocabulary);
    }
    if (in_model() && key_ == "merges") return begin(List::Merges, &out_->has_merges);
    return open(json::array());
  }
  bool end_array() {
    if (inner_ == 0) return end();
    if (inner_ != 3) bad_vocabulary();  // the pair is complete
    inner_ = 0;
    return true;
  }
  bool parse_error(size_t at, const std::string&, const json::exception&) {
    fail("%s: it is not JSON, at byte %zu", where_.c_str(), at);
  }

 private:
  enum class List { None, Ids, Scored, Merges };

  [[noreturn]] void bad_vocabulary() const {
    if (list_ == List::Merges)
      fail("%s: merge %zu is not a pair of pieces: [\"a\", \"b\"] or \"a b\"", where_.c_str(), out_->merges.size());
    fail("%s: entry %zu of the vocabulary is not a piece with its %s", where_.c_str(), out_->pieces.size(),
         list_ == List::Scored ? "score" : "id");
  }

  bool in_model() const { return stack_.size() == 2 && keys_.size() == 2 && keys_[1] == "model"; }

  bool begin(List list, bool* has) {
    if (*has) fail("%s: the model has duplicates of the key %s", where_.c_str(), in_quotes(key_).c_str());
    *has = true;
    list_ = list;
    inner_ = 0;
    return true;
  }

  bool number(json v, double as_double) {
    if (list_ == List::None) return value(std::move(v));
    if (list_ == List::Merges || (list_ == List::Scored && inner_ != 2)) bad_vocabulary();
    out_->pieces.emplace_back(std::move(key_), as_double);
    if (list_ == List::Scored) inner_ = 3;
    return true;
  }

  bool merge(std::string text) {
    if (inner_ == 0) {
      const size_t space = text.find(' ');
      if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) bad_vocabulary();
      out_->merges.emplace_back(text.substr(0, space), text.substr(space + 1));
    } else if (inner_ == 1) {
      out_->merges.emplace_back(std::move(text), std::string());
      inner_ = 2;
    } else if (inner_ == 2) {
      out_->merges.back().second = std::move(text);
      inner_ = 3;
    } else {
      bad_vocabulary();
    }
    return true;
  }

  json* put(json v) {
    if (stack_.empty()) {
      out_->rest = std::move(v);
      return &out_->rest;
    }
    json& top = *stack_.back();
    if (top.is_array()) {
      top.push_back(std::move(v));
      return &top.back();
    }
    const auto [at, added] = top.emplace(key_, std::move(v));
    if (!added) fail("%s: an object has duplicates of the key %s", where_.c_str(), in_quotes(key_).c_str());
    return &*at;
  }
  bool value(json v) {
    if (list_ != List::None) bad_vocabulary();
    put(std::move(v));
    return true;
  }
  bool open(json v) {
    if (stack_.size() == kMaxDepth) fail("%s: it is nested deeper than %zu", where_.c_str(), kMaxDepth);
    json* made = put(std::move(v));
    keys_.push_back(key_);
    stack_.push_back(made);
    return true;
  }
  bool end() {
    if (list_ != List::None) {
      list_ = List::None;
      return true;
    }
    stack_.pop_back();
    keys_.pop_back();
    return true;
  }

  TokenizerJson* out_;
  std::string where_;
  std::vector<json*> stack_;       // open values; a list does not grow while one of its elements is open
  std::vector<std::string> keys_;  // their keys
  std::string key_;
  List list_ = List::None;
  int inner_ = 0;  // position in a pair of a list: 1 open, 2 after the first, 3 complete
};

}  // namespace

TokenizerJson read_tokenizer_json(const std::string& bytes, const std::string& where) {
  if (bytes.size() > kMaxBytes)
    fail("%s: it has %zu bytes, a tokenizer at most %zu", where.c_str(), bytes.size(), kMaxBytes);
  TokenizerJson out;
  Handler handler(&out, where);
  if (!json::sax_parse(bytes.begin(), bytes.end(), &handler)) fail("%s: it is not JSON", where.c_str());
  if (!out.rest.is_object() || !out.rest.contains("model") || !out.rest["model"].is_object() || !out.has_vocabulary)
    fail("%s: it has no \"model\" with a \"vocab\", as tokenizer.json has", where.c_str());
  return out;
}

}  // namespace ferry::huggingface
