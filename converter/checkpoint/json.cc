#include "converter/checkpoint/json.h"

#include <set>
#include <vector>

#include "converter/checkpoint/checkpoint.h"
#include "converter/error.h"

namespace ferry {

using nlohmann::json;

json parse_json(std::string_view text, const std::string& where) {
  std::vector<std::set<std::string>> keys;  // of the open objects
  constexpr int kMaxDepth = 500;            // maximum nesting: callers may recurse over values
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (depth > kMaxDepth) fail("%s: its JSON is nested deeper than %d", where.c_str(), kMaxDepth);
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second)
        fail("%s: the key %s appears twice in one JSON object", where.c_str(), in_quotes(key).c_str());
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
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
