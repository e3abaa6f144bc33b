// ferry diff
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/diff_images.h"
#include "cli/differences.h"
#include "cli/print.h"
#include "cli/text.h"

namespace ferry::cli {
namespace {

struct DiffOptions {
  std::string a, b, output;
  std::vector<std::string> images;
  ThreadOptions threads;
  bool all = false, json = false;
};

// Lines of one kind. Without --all only the first ones are printed.
class Lines {
 public:
  explicit Lines(const DiffOptions& o) : limit_(o.all ? SIZE_MAX : 20) {}
  ~Lines() {
    if (count_ > limit_) print("  and %zu more (--all)\n", count_ - limit_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  void add(const std::string& line) {
    if (count_++ < limit_) print("%s\n", line.c_str());
  }

 private:
  const size_t limit_;
  size_t count_ = 0;
};

std::string line_of(const Difference& d) {
  if (d.b.empty()) return "- " + d.what + "  " + d.a;
  if (d.a.empty()) return "+ " + d.what + "  " + d.b;
  return "~ " + d.what + ": " + d.a + " | " + d.b;
}

std::string line_of(const WeightDifference& w) {
  const std::string types = w.a == w.b ? w.a : w.a + " | " + w.b;
  if (!w.measured) return "~ " + w.name + ": " + types;
  char text[96];
  std::snprintf(text, sizeof text, ": maximum difference %.3g, maximum magnitude %.3g", w.largest, w.maximum);
  return "~ " + w.name + "  " + types + (w.largest == 0 ? ": equal values" : text);
}

void print_differences(const DiffOptions& o, const Differences& found) {
  {
    Lines lines(o);
    for (const Difference& d : found.blob) lines.add(line_of(d));
  }
  size_t operators = 0, weights = 0;
  for (const GraphDifferences& graph : found.graphs) {
    operators += graph.operators;
    weights += graph.weights;
    const bool same = graph.ports.empty() && graph.operators_differing.empty() && graph.weights_differing.empty();
    if (!same && found.graphs.size() > 1) print("graph %s\n", graph.name.c_str());
    for (const std::vector<Difference>* part : {&graph.ports, &graph.operators_differing}) {
      Lines lines(o);
      for (const Difference& d : *part) lines.add(line_of(d));
    }
    Lines lines(o);
    for (const WeightDifference& w : graph.weights_differing) lines.add(line_of(w));
  }
  if (found.count() == 0) {
    print("the same network: %zu operators and %zu weights agree%s\n", operators, weights,
          found.bits ? ", some weights have other bits for the same values" : " bit for bit");
  } else {
    print("%zu difference%s; %zu operators and %zu weights were compared\n", found.count(),
          found.count() == 1 ? "" : "s", operators, weights);
  }
}

nlohmann::ordered_json json_of(const Difference& d) { return {{"what", d.what}, {"a", d.a}, {"b", d.b}}; }

nlohmann::ordered_json json_of(const WeightDifference& w) {
  nlohmann::ordered_json j = {{"weight", w.name}, {"a", w.a}, {"b", w.b}};
  if (w.measured) j["largest_difference"] = w.largest, j["maximum"] = w.maximum;
  return j;
}

template <typename List>
nlohmann::ordered_json json_of_all(const List& list) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const auto& d : list) array.push_back(json_of(d));
  return array;
}

void print_json(const DiffOptions& o, const Differences& found) {
  nlohmann::ordered_json report = {{"a", o.a}, {"b", o.b}, {"same", found.count() == 0}};
  report["blob"] = json_of_all(found.blob);
  report["graphs"] = nlohmann::ordered_json::array();
  for (const GraphDifferences& graph : found.graphs) {
    report["graphs"].push_back({{"graph", graph.name},
                                {"operators_compared", graph.operators},
                                {"weights_compared", graph.weights},
                                {"ports", json_of_all(graph.ports)},
                                {"operators", json_of_all(graph.operators_differing)},
                                {"weights", json_of_all(graph.weights_differing)}});
  }
  print_document(report);
}

int diff(const DiffOptions& o) {
  if (!o.images.empty() && (o.json || o.all)) fail("--images compares answers: without --all and --json");
  if (!o.images.empty()) return diff_images({o.a, o.b, o.output, o.images, o.threads}) ? kDone : kCheckFailed;
  if (!o.output.empty()) fail("-o %s: an image of the answers that differ most: add --images", o.output.c_str());
  const Differences found = differences_of(o.a, o.b);
  o.json ? print_json(o, found) : print_differences(o, found);
  return found.count() == 0 ? kDone : kCheckFailed;
}

}  // namespace

void add_diff(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "diff", "Show what differs between two blobs");
  app.footer(
      "\nCompares graph by graph: inputs, outputs, taps, preprocessing, task and labels; operators, matched by kind "
      "and\n"
      "module, with their shapes and parameters; weights, matched by the operators that read them, with the maximum\n"
      "difference of their values, whatever types they are stored in. A line begins with - if only the first blob has\n"
      "the item, + if only the second one has it, ~ if both have it: the first blob's value stands left of |.\n"
      "Provenance, certificate and packed weights are not compared: `ferry inspect` shows them.\n"
      "\n--images compares the answers instead: the agreement over all images, and the worst ones, which -o draws "
      "side\n"
      "by side.\n"
      "\nExit code: 0 the same network, 1 differences, 2 bad usage or input.\n"
      "\nExamples:\n"
      "  ferry diff resnet50.ferry resnet50_i8.ferry      the effect of quantisation on the weights\n"
      "  ferry diff old.ferry new.ferry --all             every difference\n"
      "  ferry diff old.ferry new.ferry --json | jq .same\n"
      "  ferry diff m.ferry m8.ferry --images photos/ -o worst.png");
  auto o = std::make_shared<DiffOptions>();
  app.add_option("A", o->a, "The first blob").required().type_name("");
  app.add_option("B", o->b, "The second").required().type_name("");
  app.add_option("--images", o->images, "Images, or folders of them: compare the answers").type_name("PATH");
  app.add_option("-o,--output", o->output, "With --images: an image of the worst ones (PNG)").type_name("FILE");
  app.add_flag("--all", o->all, "Every difference, not only the first 20 of a kind");
  app.add_flag("--json", o->json, "Print JSON");
  add_thread_options(app, &o->threads);
  app.callback([o, exit_code] { *exit_code = diff(*o); });
}

}  // namespace ferry::cli
