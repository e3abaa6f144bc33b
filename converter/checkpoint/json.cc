#include "converter/checkpoint/json.h"

#include <set>
#include <vector>

#include "converter/checkpoint/checkpoint.h"
#include "converter/error.h"

namespace ferry {

using nlohmann::json;

namespace {

// Checks a text while it is read; makes no values. (json::parse() with a callback takes quadratic time: after each
// object it searches all members of the one around it. Headers of mixtures of experts have 100,000.)
class Check : public json::json_sax_t {
 public:
  explicit Check(const std::string& where) : where_(where) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    if (!keys_.back().insert(key).second)
      fail("%s: the key %s appears twice in one JSON object", where_.c_str(), in_quotes(key).c_str());
    return true;
  }
  // json::parse() throws the same.
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

 private:
  bool open() {
    constexpr size_t kMaxDepth = 500;  // maximum nesting: callers may recurse over values
    if (keys_.size() == kMaxDepth) fail("%s: its JSON is nested deeper than %zu", where_.c_str(), kMaxDepth);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  const std::string& where_;
  std::vector<std::set<std::string>> keys_;  // of the open objects; none of an array
};

}  // namespace

json parse_json(std::string_view text, const std::string& where) {
  Check check(where);
  json::sax_parse(text.begin(), text.end(), &check);
  try {
    return json::parse(text.begin(), text.end());
  } catch (const json::parse_error& error) {
    fail("%s: is not valid JSON (at byte %zu of %zu)", where.c_str(), error.byte, text.size());
  } catch (const json::exception& error) {  // a number is out of range
    fail("%s: is not valid JSON (%s)", where.c_str(), error.what());
  }
}

std::string in_quotes(std::string_view name) {
  constexpr size_t kLongest = 200;
  std::string out = "\"";
  for (char c : name.substr(0, kLongest)) out += static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return out + (name.size() > kLongest ? "...\"" : "\"");
}

json read_config(const Checkpoint& checkpoint, const char* name) { return checkpoint.companions().read_json(name); }

}  // namespace ferry
