// ferry models
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.h"
#include "cli/pager.h"
#include "cli/print.h"
#include "cli/text.h"
#include "converter/suggest.h"
#if defined(FERRY_HAS_CONVERTER)
#include "models/families.h"
#endif

namespace ferry::cli {
namespace {

struct ModelsOptions {
  std::vector<std::string> filter;
  bool all = false, json = false;
};

#if defined(FERRY_HAS_CONVERTER)

constexpr size_t kOverviewWidth = 100;

// A line of the list: a name, and all whose checkpoints of it can be read.
struct VariantRow {
  std::string name, input, output, checkpoint;
};

struct FamilyGroup {
  std::string family;
  std::vector<VariantRow> rows;
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Every word of the filter is in the variant's family, name, framework or hub's name.
bool matches(const std::vector<std::string>& filter, const Family& family, const Variant& v) {
  const std::string text =
      lower_case(std::string(family.name()) + " " + v.name() + " " + v.framework + "/" + v.name() + " " + v.hub);
  return std::all_of(filter.begin(), filter.end(),
                     [&](const std::string& word) { return text.find(lower_case(word)) != std::string::npos; });
}

// "timm", or "transformers facebook/dino-vits16" where the hub has another name.
std::string checkpoint_of(const Variant& v) {
  return v.hub.empty() || v.hub == v.framework + "/" + v.name() ? v.framework : v.framework + " " + v.hub;
}

std::vector<FamilyGroup> groups_of(const std::vector<std::string>& filter) {
  std::vector<FamilyGroup> groups;
  for (const Family* family : families()) {
    FamilyGroup group{family->name(), {}};
    for (const Variant* v : family->variants()) {
      if (!matches(filter, *family, *v)) continue;
      const Family::Description about = family->describe(*v);
      VariantRow row{v->name(), about.input, about.output, checkpoint_of(*v)};
      const auto same = std::find_if(group.rows.begin(), group.rows.end(), [&](const VariantRow& other) {
        return other.name == row.name && other.input == row.input && other.output == row.output;
      });
      if (same == group.rows.end()) {
        group.rows.push_back(std::move(row));
      } else {
        same->checkpoint += ", " + row.checkpoint;
      }
    }
    if (!group.rows.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

size_t count_of(const std::vector<FamilyGroup>& groups) {
  size_t count = 0;
  for (const FamilyGroup& group : groups) count += group.rows.size();
  return count;
}

std::string padded_name(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, text.size()), ' ');
}

std::string networks(size_t count) { return std::to_string(count) + (count == 1 ? " network" : " networks"); }

std::string variants_text(const std::vector<FamilyGroup>& groups) {
  std::string out;
  for (const FamilyGroup& group : groups) {
    size_t name = 4, input = 5, output = 6;
    for (const VariantRow& row : group.rows) {
      name = std::max(name, row.name.size());
      input = std::max(input, row.input.size());
      output = std::max(output, row.output.size());
    }
    const auto line = [&](const VariantRow& row) {
      out += "  " + padded_name(row.name, name) + "  " + padded_name(row.input, input) + "  " +
             padded_name(row.output, output) + "  " + row.checkpoint + "\n";
    };
    out += group.family + "\n";
    line({"name", "input", "output", "checkpoint of"});
    for (const VariantRow& row : group.rows) line(row);
    out += "\n";
  }
  return out + networks(count_of(groups)) + "\n";
}

// A line for each family, with as many of its architectures as fit.
std::string overview_text() {
  const std::vector<FamilyGroup> groups = groups_of({});
  size_t width = 6;
  for (const FamilyGroup& group : groups) width = std::max(width, group.family.size());
  std::string out = padded_name("family", width) + "  networks  such as\n";
  for (const FamilyGroup& group : groups) {
    std::string line = padded_name(group.family, width);
    const std::string count = std::to_string(group.rows.size());
    line += std::string(10 - std::min<size_t>(10, count.size()), ' ') + count + "  ";
    std::set<std::string> seen;
    for (const VariantRow& row : group.rows) {
      const std::string architecture = row.name.substr(0, row.name.find('.'));
      if (!seen.insert(architecture).second) continue;
      if (line.size() + 2 + architecture.size() + 5 > kOverviewWidth) {
        line += ", ...";
        break;
      }
      line += (seen.size() == 1 ? "" : ", ") + architecture;
    }
    out += line + "\n";
  }
  return out + "\n" + networks(count_of(groups)) +
         ". `ferry models WORD` lists those with WORD in their name, --all lists every one.\n";
}

std::string variants_json(const std::vector<std::string>& filter) {
  nlohmann::json list = nlohmann::json::array();
  for (const Family* family : families()) {
    for (const Variant* v : family->variants()) {
      if (!matches(filter, *family, *v)) continue;
      nlohmann::json row = {{"family", family->name()},
                            {"name", v->name()},
                            {"architecture", v->architecture},
                            {"framework", v->framework},
                            {"hub", v->hub}};
      for (const auto& [name, value] : family->describe(*v).properties) row[name] = value;
      list.push_back(std::move(row));
    }
  }
  return list.dump(2) + "\n";
}

std::vector<std::string> known_variants() {
  std::set<std::string> names;
  for (const Family* family : families())
    for (const Variant* v : family->variants()) names.insert({v->architecture, v->name()});
  return {names.begin(), names.end()};
}

int models(const ModelsOptions& o) {
  const std::vector<FamilyGroup> groups = groups_of(o.filter);
  if (groups.empty()) {
    const std::string words = join(o.filter, " ");
    fail("no network has '%s' in its name%s: `ferry models` lists the families", words.c_str(),
         did_you_mean(words, known_variants()).c_str());
  }
  if (o.json) {
    print_text(variants_json(o.filter));
  } else {
    print_paged(o.filter.empty() && !o.all ? overview_text() : variants_text(groups));
  }
  return kDone;
}

#else

std::vector<std::string> known_variants() { return {}; }
int models(const ModelsOptions&) { fail("this build has no converter, so it knows no families; use a desktop build"); }

#endif

}  // namespace

std::vector<std::string> variant_names() { return known_variants(); }

void add_models(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "models", "List the networks that can be converted");
  app.footer(
      "\nWithout WORD: a line for each family. With WORD: every network whose family, name, framework or hub's name "
      "has\n"
      "that word; of several words, all of them. A line has the name for `ferry convert --model`, the input size "
      "(HxW),\n"
      "what the network returns, and whose checkpoints are read. A bare architecture (resnet50) selects the first\n"
      "network of the checkpoint's own framework.\n"
      "\nExamples:\n"
      "  ferry models\n"
      "  ferry models resnet50\n"
      "  ferry models torchvision efficientnet\n"
      "  ferry models --json | jq -r '.[].name'");
  auto o = std::make_shared<ModelsOptions>();
  app.add_option("WORD", o->filter, "Part of a name").type_name("VARIANT");
  app.add_flag("--all", o->all, "Every network, not only the families");
  app.add_flag("--json", o->json, "A JSON list instead of a table");
  app.callback([o, exit_code] { *exit_code = models(*o); });
}

}  // namespace ferry::cli
