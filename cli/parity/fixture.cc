#include "cli/parity/fixture.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "cli/parity/generator.h"
#include "converter/checkpoint/checkpoint.h"
#include "converter/checkpoint/json.h"
#include "converter/checkpoint/sha256.h"
#include "converter/error.h"

namespace ferry::parity {

namespace fs = std::filesystem;
using nlohmann::json;

int64_t elements(const Dims& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::string to_string(const Dims& shape) {
  std::string s;
  for (int64_t d : shape) s += (s.empty() ? "" : "x") + std::to_string(d);
  return s.empty() ? "scalar" : s;
}

namespace {

// Far above any activation. Bounds the product of dimensions and the memory allocated for it.
constexpr int64_t kMaxElements = int64_t{1} << 28;

class FixtureReader {
 public:
  explicit FixtureReader(const fs::path& folder)
      : where_((folder / "manifest.json").string()), manifest_(manifest_in(folder)) {
    if (const std::string format = text_of(manifest_, "format", where_); format != "parity-fixture/1")
      fail("%s: format %s, expected \"parity-fixture/1\"", where(), in_quotes(format).c_str());
    data_ = open_checkpoint(folder / "fixture.safetensors");
  }

  Fixture read() {
    Fixture fixture;
    fixture.name = text_of(manifest_, "name", where_);
    fixture.architecture = text_of(manifest_, "arch", where_);
    const json library = manifest_.value("library", json::object());
    if (!library.is_object()) fail("%s: \"library\" is not an object", where());
    fixture.library = text_of(library, "name", where_ + ": library");
    if (library.contains("version")) fixture.library += " " + text_of(library, "version", where_ + ": library");
    fixture.sha256 = data_->sha256();
    if (const json seed = manifest_.value("seed", json()); seed.is_number_unsigned())
      fixture.seed = seed.get<uint64_t>();
    for (const json& item : list("inputs")) fixture.inputs.push_back(input(item));
    for (const json& item : list("taps")) fixture.entries.push_back(entry(item, EntryKind::Tap));
    read_pyramids(fixture.entries);
    for (const json& item : list("outputs")) fixture.entries.push_back(entry(item, EntryKind::Output));
    read_weights(&fixture);
    if (fixture.inputs.empty()) fail("%s: no inputs are listed", where());
    if (fixture.entries.empty()) fail("%s: no outputs or taps are listed", where());
    return fixture;
  }

 private:
  const char* where() const { return where_.c_str(); }

  static json manifest_in(const fs::path& folder) {
    const std::string where = (folder / "manifest.json").string();
    std::ifstream file(folder / "manifest.json", std::ios::binary);
    if (!file)
      fail("%s: cannot be opened; a fixture is a folder with manifest.json and fixture.safetensors", where.c_str());
    json manifest = parse_json(std::string{std::istreambuf_iterator<char>(file), {}}, where);
    if (!manifest.is_object()) fail("%s: not a JSON object", where.c_str());
    return manifest;
  }

  std::string text_of(const json& object, const char* key, const std::string& place) const {
    const auto it = object.find(key);
    if (it == object.end() || !it->is_string()) fail("%s: \"%s\" is missing or not a string", place.c_str(), key);
    return it->get<std::string>();
  }

  double number_of(const json& object, const char* key, const std::string& place) const {
    const auto it = object.find(key);
    if (it == object.end() || !it->is_number()) fail("%s: \"%s\" is missing or not a number", place.c_str(), key);
    const double value = it->get<double>();
    if (!std::isfinite(value) || value < 0) fail("%s: \"%s\" is %g, expected at least 0", place.c_str(), key, value);
    return value;
  }

  const json& list(const char* key) const {
    static const json empty = json::array();
    const auto it = manifest_.find(key);
    if (it == manifest_.end()) return empty;
    if (!it->is_array()) fail("%s: \"%s\" is not a list", where(), key);
    return *it;
  }

  // The unique name of a list's item.
  std::string name_of(const json& item) {
    if (!item.is_object()) fail("%s: an input, output or tap is not an object", where());
    std::string name = text_of(item, "name", where_ + ": an input, output or tap");
    if (!names_.insert(name).second) fail("%s: %s is listed twice", where(), in_quotes(name).c_str());
    return name;
  }

  Dims shape_of(const json& value, const std::string& place) const {
    if (!value.is_array()) fail("%s: \"shape\" is missing or not a list", place.c_str());
    Dims shape;
    int64_t n = 1;
    for (const json& d : value) {
      if (!d.is_number_integer() || d.get<int64_t>() < 1 || d.get<int64_t>() > kMaxElements / n)
        fail("%s: dimension %zu of the shape is out of range", place.c_str(), shape.size());
      shape.push_back(d.get<int64_t>());
      n *= shape.back();
    }
    return shape;
  }

  bool is_sampled(const json& item, const std::string& place) const {
    const std::string stored = text_of(item, "stored", place);
    if (stored != "full" && stored != "sample")
      fail("%s: stored as %s, expected \"full\" or \"sample\"", place.c_str(), in_quotes(stored).c_str());
    return stored == "sample";
  }

  // The named tensor, of the shape that the manifest declares: float32, or 32- or 64-bit integers if `integers`.
  const CheckpointTensor& stored(const std::string& name, const Dims& shape, bool integers = false) const {
    const auto it = data_->tensors().find(name);
    const std::string file = data_->path().string();
    if (it == data_->tensors().end())
      fail("%s: no tensor %s, but the manifest lists it", file.c_str(), in_quotes(name).c_str());
    const CheckpointTensor& tensor = it->second;
    const bool fits =
        integers ? tensor.type == ElementType::I64 || tensor.type == ElementType::I32 : tensor.type == ElementType::F32;
    if (!fits)
      fail("%s: tensor %s is %s, expected %s", file.c_str(), in_quotes(name).c_str(), element_name(tensor.type),
           integers ? "I64 or I32" : "F32");
    if (tensor.shape != shape)
      fail("%s: tensor %s is %s, but the manifest says %s", file.c_str(), in_quotes(name).c_str(),
           to_string(tensor.shape).c_str(), to_string(shape).c_str());
    return tensor;
  }

  Dims sample_shape(const json& item, const std::string& place) const {
    const double samples = number_of(item, "samples", place);
    if (samples < 1 || samples > 1e9 || samples != std::floor(samples))
      fail("%s: %g samples, expected an integer of at least 1", place.c_str(), samples);
    return {static_cast<int64_t>(samples)};
  }

  FixtureInput input(const json& item) {
    const std::string name = name_of(item), place = where_ + ": input " + in_quotes(name);
    FixtureInput out;
    out.name = name.starts_with("input/") ? name.substr(6) : name;
    out.shape = shape_of(item.value("shape", json()), place);
    if (const json type = item.value("dtype", json()); type == "I64" || type == "I32") {
      const CheckpointTensor& ids = stored(name, out.shape, true);
      for (const double id : ids.to_doubles()) {
        if (std::fabs(id) >= 0x1p24) fail("%s: it holds %.0f, expected ids below 2^24", place.c_str(), id);
        out.values.push_back(static_cast<float>(id));
      }
      check_sha(item, place, ids.bytes);
      return out;
    }
    if (is_sampled(item, place)) {
      if (out.shape.size() != 4) fail("%s: only images can be regenerated from a seed", place.c_str());
      const json seed = manifest_.value("seed", json());
      if (!seed.is_number_unsigned()) fail("%s: \"seed\" is missing or not an integer", where());
      out.values = input_image(out.shape, seed.get<uint64_t>());
      // The manifest does not say which of the three rules applies; the SHA-256 decides.
      const auto fits = [&](const std::vector<float>& values) {
        return sha256_hex(std::as_bytes(std::span(values))) == text_of(item, "sha256", place);
      };
      if (out.shape[1] > 1 && !fits(out.values)) {
        std::vector<float> masked = masked_image(out.shape, seed.get<uint64_t>());
        if (fits(masked)) out.values = std::move(masked);
      }
      if (!fits(out.values)) out.values = input_image_channels_last(out.shape, seed.get<uint64_t>());
    } else {
      out.values = stored(name, out.shape).to_floats();
    }
    check_sha(item, place, std::as_bytes(std::span(out.values)));
    return out;
  }

  void check_sha(const json& item, const std::string& place, std::span<const std::byte> bytes) const {
    const std::string expected = text_of(item, "sha256", place);
    if (const std::string sha = sha256_hex(bytes); sha != expected)
      fail("%s: its values have SHA-256 %s, but the manifest says %s", place.c_str(), sha.c_str(), expected.c_str());
  }

  Entry entry(const json& item, EntryKind kind) {
    Entry out;
    out.name = name_of(item);
    const std::string place = where_ + ": " + in_quotes(out.name);
    out.kind = kind;
    out.module = out.name.starts_with("tap/") ? out.name.substr(4) : out.name;
    out.shape = shape_of(item.value("shape", json()), place);
    out.absmax = number_of(item, "absmax", place);
    if (!item.value("float32_vs_float64", json()).is_null()) out.floor = number_of(item, "float32_vs_float64", place);
    const bool sampled = is_sampled(item, place);
    load(out, sampled ? sample_shape(item, place) : out.shape, sampled);
    // The manifest's statistics have nine digits.
    const double largest = largest_value(out);
    if (largest > out.absmax * (1 + 1e-6) || (out.positions.empty() && largest < out.absmax * (1 - 1e-6)))
      fail("%s: the maximum stored value is %.9g, but the manifest says %.9g", place.c_str(), largest, out.absmax);
    return out;
  }

  // Features of inner stages, as timm's features_only returns them; the manifest has no statistics for them.
  void read_pyramids(std::vector<Entry>& entries) {
    const auto it = manifest_.find("features_only");
    if (it == manifest_.end()) return;
    const std::string place = where_ + ": features_only";
    if (!it->is_object()) fail("%s is not an object", place.c_str());
    const json modules = it->value("module", json::array()), shapes = it->value("shapes", json::array());
    if (!modules.is_array() || !shapes.is_array() || modules.size() != shapes.size())
      fail("%s: the numbers of modules and shapes differ", place.c_str());
    for (size_t i = 0; i < modules.size(); ++i) {
      if (!modules[i].is_string()) fail("%s: module %zu is not a string", place.c_str(), i);
      Entry out;
      out.name = "feat/" + std::to_string(i);
      out.module = modules[i].get<std::string>();
      out.kind = EntryKind::Pyramid;
      out.shape = shape_of(shapes[i], place);
      const auto found = data_->tensors().find(out.name);
      const bool sampled = found != data_->tensors().end() && found->second.shape.size() == 1 && out.shape.size() != 1;
      load(out, sampled ? found->second.shape : out.shape, sampled);
      out.absmax = largest_value(out);
      for (const Entry& tap : entries)
        if (tap.module == out.module && tap.shape == out.shape) out.floor = tap.floor, out.absmax = tap.absmax;
      entries.push_back(std::move(out));
    }
  }

  // Unknown rules and a missing manifest are ignored: a comparison needs no checkpoint.
  void read_weights(Fixture* out) const {
    json manifest = manifest_;
    const fs::path folder = fs::path(where_).parent_path();
    if (const json other = manifest.value("checkpoint_of", json()); other.is_string()) {
      const fs::path there = fs::absolute(folder).lexically_normal().parent_path() / other.get<std::string>();
      if (!fs::exists(there / "manifest.json")) return;
      manifest = manifest_in(there);
    }
    const json seed = manifest.value("seed", json()), tensors = manifest.value("tensors", json());
    if (!seed.is_number_unsigned() || !tensors.is_array()) return;
    out->weights_seed = seed.get<uint64_t>();
    for (const json& tensor : tensors)
      if (const auto rule = rule_of(tensor)) out->weights.push_back(*rule);
  }

  static std::optional<WeightRule> rule_of(const json& tensor) {
    if (!tensor.is_object() || tensor.value("dtype", json()) != "F32") return {};
    const json name = tensor.value("name", json()), shape = tensor.value("shape", json());
    const json kind = tensor.value("kind", json());
    const auto number = [&](const char* key) { return tensor.value(key, json()); };
    if (!name.is_string() || !shape.is_array() || !std::all_of(shape.begin(), shape.end(), [](const json& d) {
          return d.is_number_unsigned() && d.get<uint64_t>() <= static_cast<uint64_t>(kMaxElements);
        }))
      return {};
    WeightRule out{.name = name, .shape = shape.get<Dims>(), .sha256 = {}, .kind = {}};
    if (kind == "recorded") {
      out.sha256 = tensor.value("sha256", std::string());
      return out.sha256.empty() ? std::nullopt : std::optional(out);
    }
    if (kind == "const") {
      if (!number("value").is_number()) return {};
      out.value = number("value").get<float>();
      return out;
    }
    if (!number("offset").is_number() || !number("scale").is_number()) return {};
    out.offset = number("offset").get<double>(), out.scale = number("scale").get<double>();
    for (const auto& [called, fills] :
         {std::pair{"uniform", FillKind::Uniform}, {"abs", FillKind::Abs}, {"centered", FillKind::Centered}})
      if (kind == called) out.kind = fills;
    return out.kind ? std::optional(out) : std::nullopt;
  }

  void load(Entry& out, const Dims& stored_shape, bool sampled) const {
    out.values = stored(out.name, stored_shape).to_floats();
    if (sampled) out.positions = sample_positions(out.name, stored_shape[0], elements(out.shape));
    for (float v : out.values)
      if (!std::isfinite(v)) fail("%s: tensor %s holds %g", data_->path().c_str(), in_quotes(out.name).c_str(), v);
  }

  static double largest_value(const Entry& entry) {
    double largest = 0;
    for (float v : entry.values) largest = std::max(largest, std::fabs(static_cast<double>(v)));
    return largest;
  }

  std::string where_;
  json manifest_;
  std::shared_ptr<const Checkpoint> data_;
  std::set<std::string> names_;
};

}  // namespace

Fixture read_fixture(const fs::path& folder) { return FixtureReader(folder).read(); }

}  // namespace ferry::parity
