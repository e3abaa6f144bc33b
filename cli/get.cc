// ferry get
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/parity/certify.h"
#include "cli/progress.h"
#include "cli/sdk.h"
#include "cli/text.h"
#if defined(FERRY_HAS_CONVERTER)
#include "models/families.h"
#include "models/zoo.h"
#endif
#if defined(FERRY_HAS_HUB)
#include "converter/hub/published.h"
#endif

namespace ferry::cli {
namespace {

struct GetOptions {
  std::string name, output, from, weights = "f32", certify;
  bool json = false;
};

#if defined(FERRY_HAS_HUB)

namespace fs = std::filesystem;

// As many of the SHA-256 as a line has room for.
std::string digits(const ZooEntry& entry) { return entry.sha256.substr(0, 8) + "..."; }

int list(const std::vector<ZooEntry>& all, bool json) {
  if (json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const ZooEntry& e : all)
      out.push_back({{"name", e.name},
                     {"task", e.task},
                     {"input", e.input},
                     {"licence", e.licence},
                     {"revision", e.revision},
                     {"sha256", e.sha256},
                     {"url", e.url}});
    std::printf("%s\n", out.dump(2).c_str());
    return kDone;
  }
  size_t name = 0, task = 0;
  for (const ZooEntry& e : all) {
    name = std::max(name, e.name.size());
    task = std::max(task, e.task.size());
  }
  for (const ZooEntry& e : all)
    std::printf("%-*s  %-*s  %-9s  %-12s  SHA-256 %s  %s\n", static_cast<int>(name), e.name.c_str(),
                static_cast<int>(task), e.task.c_str(), e.input.c_str(), e.licence.c_str(), digits(e).c_str(),
                e.url.c_str());
  return kDone;
}

const ZooEntry& find(const std::vector<ZooEntry>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const ZooEntry& e) { return e.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const ZooEntry& e : all) names.push_back(e.name);
  fail(
      "%s: no checkpoint is known by this name%s: `ferry get` lists them; what the Hugging Face hub has comes by "
      "`ferry convert hf:ORG/NAME`",
      name.c_str(), did_you_mean(name, names).c_str());
}

fs::path checkpoints_folder() {
  const std::string folder = cache_folder("checkpoints");
  if (folder.empty()) fail("there is no home to keep checkpoints in: set XDG_CACHE_HOME");
  return folder;
}

// The checked file, from its publisher, a mirror or a folder.
fs::path locate(const GetOptions& o, const ZooEntry& entry, PublishedFile file) {
  if (!o.from.empty() && o.from.find("://") == std::string::npos) {
    const fs::path path = fs::path(o.from) / name_of(file);
    if (!fs::exists(path)) fail("--from %s: there is no %s", o.from.c_str(), path.c_str());
    check_published(file, path);
    return path;
  }
  if (!o.from.empty()) file.url = o.from + (o.from.ends_with('/') ? "" : "/") + name_of(file);
  ProgressLine line("downloading " + entry.name);
  return fetch_published(file, checkpoints_folder(), [&](uint64_t done, uint64_t total) {
    line.update("", static_cast<double>(done) / static_cast<double>(total));
  });
}

int get(const GetOptions& o) {
  const std::vector<ZooEntry> all = zoo(families());
  if (o.name.empty()) {
    if (!o.output.empty()) fail("-o %s: of which checkpoint? `ferry get` lists them", o.output.c_str());
    return list(all, o.json);
  }
  const ZooEntry& entry = find(all, o.name);
  ConvertOptions options;
  options.model = entry.model;
  options.output = o.output.empty() ? fs::path(entry.name).filename().string() + ".ferry" : o.output;
  options.weights = o.weights;
  if (const fs::path folder = options.output.parent_path(); !folder.empty() && !fs::is_directory(folder))
    fail("cannot write %s: there is no folder %s", options.output.c_str(), folder.c_str());
  if (!o.certify.empty())
    options.certify = [fixture = parity::read_fixture(o.certify)](const fs::path& blob) {
      return parity::certificates_of(blob, fixture);
    };
  options.checkpoint = locate(o, entry, {entry.url, entry.sha256});
  options.source = entry.url;
  ProgressLine line("converting");
  options.progress = [&line](std::string_view step, double fraction) { line.update(std::string(step), fraction); };
  const Conversion done = convert(options);
  std::printf("%s: %s, %s, %s; from %s, SHA-256 %s%s\n", options.output.c_str(), done.variant.c_str(),
              bytes_text(done.bytes).c_str(), entry.licence.c_str(), entry.url.c_str(), digits(entry).c_str(),
              o.certify.empty() ? "" : "; certified");
  for (const std::string& note : done.notes) std::printf("%s\n", note.c_str());
  return kDone;
}

#else

int get(const GetOptions&) { fail("this build cannot download and convert (FERRY_HUB or the converter is off)"); }

#endif

}  // namespace

void add_get(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "get", "Download a publisher's checkpoint, check it, and convert it");
  app.footer(
      "\nWithout a name: what is known, with its licence, its task and where it comes from. Nothing is hosted by "
      "Ferry:\n"
      "the publisher's own file is downloaded, its SHA-256 compared with the one that is known, and kept in\n"
      "~/.cache/ferry/checkpoints. --from takes it from a mirror (http://...) or a folder that has a file of that "
      "name.\n"
      "What else the Hugging Face hub has comes by `ferry convert hf:ORG/NAME`.\n"
      "\nExamples:\n"
      "  ferry get\n"
      "  ferry get torchvision/resnet50.v2\n"
      "  ferry get torchvision/mobilenet_v2.v2 --weights i8 -o small.ferry\n"
      "  ferry get Linzaer/version-RFB-320                                  finds faces");
  auto o = std::make_shared<GetOptions>();
  app.add_option("NAME", o->name, "Which; without it they are listed").type_name("");
  app.add_option("-o,--output", o->output, "The blob to write. Without it: NAME.ferry in this folder")
      .type_name("FILE");
  app.add_option("--from", o->from, "A mirror's address, or a folder, in the place of the publisher's")
      .type_name("URL");
  app.add_option("--weights", o->weights, "How weights are stored, as in `ferry convert`")
      .one_of({"f32", "f16", "i8", "i4"})
      .capture_default_str();
  app.add_option("--certify", o->certify, "A fixture of these weights: the blob gets its certificate")
      .type_name("FIXTURE");
  app.add_flag("--json", o->json, "The list as JSON");
  app.callback([o, exit_code] { *exit_code = get(*o); });
}

}  // namespace ferry::cli
