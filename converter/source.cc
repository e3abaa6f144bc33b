#include "converter/source.h"

#include <algorithm>

#include "converter/checkpoint/source.h"
#include "converter/foreign.h"
#include "converter/onnx/source.h"
#include "converter/tflite/source.h"

namespace ferry {
namespace {

// "safetensors, PyTorch, TensorFlow.js, ONNX"
std::string all_formats() {
  std::string all;
  for (const Source& source : sources()) all += (all.empty() ? "" : ", ") + std::string(source.formats);
  return all;
}

}  // namespace

std::span<const Source> sources() {
  static const Source kSources[] = {checkpoint_source(), onnx::onnx_source(), tflite::tflite_source()};
  return kSources;
}

const Source* find_source(const std::filesystem::path& path) {
  std::error_code error;
  const bool folder = std::filesystem::is_directory(path, error);
  const std::shared_ptr<const MappedFile> file = folder ? nullptr : MappedFile::open(path);
  // Checkpoints come last: any zip archive may be one of PyTorch's, and a .task archive is another.
  const std::span<const Source> all = sources();
  for (size_t i = all.size(); i-- > 0;)
    if (folder ? all[i].folders : all[i].recognises(*file)) return &all[i];
  return nullptr;
}

const Source& source_of(const std::filesystem::path& path) {
  if (const Source* source = find_source(path)) return *source;
  std::string what = describe_foreign(*MappedFile::open(path));
  if (what.empty()) what = "is damaged, or not in a format that Ferry reads (" + all_formats() + ")";
  fail("%s: %s", path.c_str(), what.c_str());
}

const Option* find_option(std::string_view name) {
  if (const Option* option = find_option(common_options(), name)) return option;
  for (const Source& source : sources())
    if (const Option* option = find_option(source.options(), name)) return option;
  return nullptr;
}

std::string formats_with(std::string_view option) {
  std::string all;
  for (const Source& source : sources())
    if (find_option(source.options(), option) != nullptr)
      all += (all.empty() ? "" : " and ") + std::string(source.plural);
  return all;
}

std::string value_of(const Settings& given, std::string_view option) {
  if (given.has(option)) return given.text(option);
  const Option* row = find_option(option);
  return row == nullptr ? std::string() : row->absent;
}

void check_values(const Settings& given, Families families) {
  std::string last;
  for (const Setting& setting : given.all()) {
    if (setting.name == last) continue;  // a check reads all values of its option
    last = setting.name;
    const Option* option = find_option(setting.name);
    if (option == nullptr) fail("--%s: unknown option of a conversion", setting.name.c_str());
    if (option->check != nullptr) option->check(*option, given, families);
  }
}

void check_options(const Source& source, const std::filesystem::path& path, const Settings& given) {
  for (const Setting& setting : given.all()) {
    if (find_option(source.options(), setting.name) != nullptr) continue;
    const std::string formats = formats_with(setting.name);
    if (formats.empty()) continue;  // a common option
    const std::string& instead = find_option(setting.name)->instead;
    fail("--%s: is for %s, and %s is %s%s%s", setting.name.c_str(), formats.c_str(), path.filename().c_str(),
         source.name, instead.empty() ? "" : ": ", instead.c_str());
  }
}

}  // namespace ferry
