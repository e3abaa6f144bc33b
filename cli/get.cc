// ferry get
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/pager.h"
#include "cli/parity/certify.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/sdk.h"
#include "cli/text.h"
#include "converter/suggest.h"
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

// The first digits of the SHA-256.
std::string digits(const ZooEntry& entry) { return entry.sha256.substr(0, 8) + "..."; }

// A table of at most 100 columns, grouped by task.
std::string checkpoints_text(const std::vector<ZooEntry>& all) {
  size_t name = 0;
  for (const ZooEntry& e : all) name = std::max(name, e.name.size());
  const auto line = [name](const std::string& first, const std::string& input, const std::string& size,
                           const std::string& licence) {
    char text[160];
    std::snprintf(text, sizeof text, "  %-*s  %-9s %7s  %s\n", static_cast<int>(name), first.c_str(), input.c_str(),
                  size.c_str(), licence.c_str());
    return std::string(text);
  };
  std::vector<std::string> tasks;
  for (const ZooEntry& e : all)
    if (std::find(tasks.begin(), tasks.end(), e.task) == tasks.end()) tasks.push_back(e.task);
  std::string out = line("name", "input", "size", "licence");
  for (const std::string& task : tasks) {
    out += task + "\n";
    for (const ZooEntry& e : all) {
      if (e.task != task) continue;
      char size[32];
      std::snprintf(size, sizeof size, e.megabytes < 10 ? "%.1f MB" : "%.0f MB", e.megabytes);
      out += line(e.name, e.input, size, e.licence);
    }
  }
  return out + "\n" + std::to_string(all.size()) +
         " checkpoints. `ferry get NAME` downloads and converts one; --json has addresses and SHA-256s.\n";
}

int list(const std::vector<ZooEntry>& all, bool json) {
  if (json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const ZooEntry& e : all)
      out.push_back({{"name", e.name},
                     {"task", e.task},
                     {"input", e.input},
                     {"megabytes", e.megabytes},
                     {"licence", e.licence},
                     {"revision", e.revision},
                     {"sha256", e.sha256},
                     {"url", e.url}});
    print_document(out);
    return kDone;
  }
  print_paged(checkpoints_text(all));
  return kDone;
}

const ZooEntry& find(const std::vector<ZooEntry>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const ZooEntry& e) { return e.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const ZooEntry& e : all) names.push_back(e.name);
  fail(
      "%s: no checkpoint is known by this name%s: `ferry get` lists them; `ferry convert hf:ORG/NAME` downloads from "
      "the Hugging Face hub",
      name.c_str(), did_you_mean(name, names).c_str());
}

fs::path checkpoints_folder() {
  const std::string folder = cache_folder("checkpoints");
  if (folder.empty()) fail("no home directory to keep checkpoints in: set XDG_CACHE_HOME");
  return folder;
}

// The file's path, after its SHA-256 was checked: from its publisher, a mirror or a folder.
fs::path locate(const GetOptions& o, const ZooEntry& entry, PublishedFile file) {
  if (!o.from.empty() && o.from.find("://") == std::string::npos) {
    const fs::path path = fs::path(o.from) / name_of(file);
    if (!fs::exists(path)) fail("--from %s: there is no %s", o.from.c_str(), path.c_str());
    check_published(file, path);
    return path;
  }
  if (!o.from.empty()) file.url = o.from + (o.from.ends_with('/') ? "" : "/") + name_of(file);
  ProgressLine line("downloading " + entry.name);
  const auto progress = [&](uint64_t done, uint64_t total) {
    line.update("", static_cast<double>(done) / static_cast<double>(total));
  };
  try {
    return fetch_published(file, checkpoints_folder(), progress);
  } catch (const Unreachable& error) {
    fail("%s; offline, `--from FOLDER` takes %s from a folder, and `--from URL` from a mirror", error.what(),
         name_of(file).c_str());
  }
}

int get(const GetOptions& o) {
  const std::vector<ZooEntry> all = zoo(families());
  if (o.name.empty()) {
    if (!o.output.empty()) fail("-o %s: of which checkpoint? `ferry get` lists them", o.output.c_str());
    return list(all, o.json);
  }
  const ZooEntry& entry = find(all, o.name);
  ConvertOptions options;
  if (!entry.model.empty()) options.settings.set("model", entry.model);
  options.output = o.output.empty() ? fs::path(entry.name).filename().string() + ".ferry" : o.output;
  options.settings.set("weights", o.weights);
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
  print("%s: %s, %s, %s; from %s, SHA-256 %s%s\n", options.output.c_str(), done.variant.c_str(),
        bytes_text(done.bytes).c_str(), entry.licence.c_str(), entry.url.c_str(), digits(entry).c_str(),
        o.certify.empty() ? "" : "; certified");
  for (const std::string& note : done.notes) print("%s\n", note.c_str());
  return kDone;
}

std::vector<std::string> known_checkpoints() {
  std::vector<std::string> names;
  for (const ZooEntry& e : zoo(families())) names.push_back(e.name);
  return names;
}

#else

std::vector<std::string> known_checkpoints() { return {}; }
int get(const GetOptions&) { fail("this build cannot download and convert (FERRY_HUB or the converter is off)"); }

#endif

}  // namespace

std::vector<std::string> checkpoint_names() { return known_checkpoints(); }

void add_get(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "get", "Download a publisher's checkpoint, check it, and convert it");
  app.footer(
      "\nWithout NAME: the list of known checkpoints, by task. Ferry hosts nothing: it downloads the publisher's file "
      "to\n"
      "~/.cache/ferry/checkpoints and compares its SHA-256 with the known one. --from takes the file from a mirror\n"
      "(http://...) or from a folder that has a file of that name, for machines without a network.\n"
      "`ferry convert hf:ORG/NAME` downloads other checkpoints from the Hugging Face hub.\n"
      "\nExamples:\n"
      "  ferry get\n"
      "  ferry get torchvision/resnet50.v2\n"
      "  ferry get torchvision/mobilenet_v2.v2 --weights i8 -o small.ferry\n"
      "  ferry get Linzaer/version-RFB-320                                  a face detector");
  auto o = std::make_shared<GetOptions>();
  app.add_option("NAME", o->name, "The checkpoint; without it: the list").type_name("CHECKPOINT");
  app.add_option("-o,--output", o->output, "The blob to write. Without it: NAME.ferry in this folder")
      .type_name("FILE");
  app.add_option("--from", o->from, "A mirror's address, or a folder with the file, instead of the publisher")
      .type_name("URL");
  app.add_option("--weights", o->weights, "How weights are stored, as in `ferry convert`")
      .one_of({"f32", "f16", "i8", "i4"})
      .capture_default_str();
  app.add_option("--certify", o->certify, "A fixture of these weights; stores its certificate in the blob")
      .type_name("FIXTURE");
  app.add_flag("--json", o->json, "The list as JSON");
  app.callback([o, exit_code] { *exit_code = get(*o); });
}

}  // namespace ferry::cli
