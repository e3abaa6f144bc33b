// ferry models
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command.h"
#include "cli/text.h"
#if defined(FERRY_HAS_CONVERTER)
#include "models/families.h"
#endif

namespace ferry::cli {
namespace {

#if defined(FERRY_HAS_CONVERTER)

void print_table() {
  for (const Family* family : families()) {
    std::printf("%s\n", family->name());
    size_t name = 0;
    for (const Variant* v : family->variants()) name = std::max(name, v->name().size());
    for (const Variant* v : family->variants()) {
      const Family::Description about = family->describe(*v);
      std::printf("  %-*s  %-9s  %-18s  %-12s %s\n", static_cast<int>(name), v->name().c_str(), about.input.c_str(),
                  about.output.c_str(), v->framework.c_str(), v->hub.c_str());
    }
  }
}

void print_json() {
  nlohmann::json list = nlohmann::json::array();
  for (const Family* family : families()) {
    for (const Variant* v : family->variants()) {
      nlohmann::json row = {{"family", family->name()},
                            {"name", v->name()},
                            {"architecture", v->architecture},
                            {"framework", v->framework},
                            {"hub", v->hub}};
      for (const auto& [name, value] : family->describe(*v).properties) row[name] = value;
      list.push_back(std::move(row));
    }
  }
  std::printf("%s\n", list.dump(2).c_str());
}

std::vector<std::string> known_variants() {
  std::set<std::string> names;
  for (const Family* family : families())
    for (const Variant* v : family->variants()) names.insert({v->architecture, v->name()});
  return {names.begin(), names.end()};
}

int models(bool json) {
  json ? print_json() : print_table();
  return kDone;
}

#else

std::vector<std::string> known_variants() { return {}; }
int models(bool) { fail("this build has no converter, so it knows no families; use a desktop build"); }

#endif

}  // namespace

std::vector<std::string> variant_names() { return known_variants(); }

void add_models(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "models", "Families and variants that can be converted");
  app.footer(
      "\nEach line: a name for `ferry convert --model`, its input size (HxW), classes, and whose checkpoint it reads.\n"
      "A bare architecture (resnet50) takes the first variant of the checkpoint's own framework.\n"
      "\nExamples:\n"
      "  ferry models | grep resnet50\n"
      "  ferry models --json");
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "A JSON list instead of a table");
  app.callback([json, exit_code] { *exit_code = models(*json); });
}

}  // namespace ferry::cli
