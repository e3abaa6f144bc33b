#include "cli/quantise.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "cli/agreement.h"
#include "cli/clock.h"
#include "cli/command.h"
#include "cli/kernels.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/quantise_rows.h"
#include "cli/samples.h"
#include "cli/text.h"
#include "converter/graph/from_blob.h"
#include "converter/pack/pack.h"
#include "converter/quantize/certificate.h"
#include "converter/quantize/compute_on_integers.h"
#include "converter/quantize/search.h"
#include "converter/write_file.h"
#include "sdk/api/handles.h"
#include "sdk/operators/operators.h"

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;

// The operators of a kind, as "12 conv2d, 3 add".
std::string kinds_text(const std::map<std::string, size_t>& kinds) {
  std::vector<std::string> words;
  for (const auto& [kind, count] : kinds) words.push_back(std::to_string(count) + " " + kind);
  return join(words, ", ");
}

void print_operators(const Graph& graph, const int8::Result& result) {
  std::map<std::string, size_t> remaining;
  size_t integer = 0, conversions = 0;
  for (const int8::OperatorError& row : result.rows) {
    integer += row.int8 ? 1 : 0;
    if (!row.int8) ++remaining[op_name(graph.table.operators[row.op]->params.type)];
  }
  const fbs::GraphT& table = result.graph->table;
  std::set<TensorId> read;  // by more than a tap
  for (const auto& output : table.outputs) read.insert(output->tensor);
  for (const auto& op : table.operators) read.insert(op->inputs.begin(), op->inputs.end());
  for (const auto& op : table.operators)
    conversions += op->params.type == fbs::OpParams::Requantize && read.contains(op->outputs.front()) ? 1 : 0;
  const size_t floats = result.rows.size() - integer;
  print("operators  %zu Int8, %zu Float32%s, %zu conversion%s\n", integer, floats,
        floats > 0 ? (" (" + kinds_text(remaining) + ")").c_str() : "", conversions, conversions == 1 ? "" : "s");
}

void print_error_of(const int8::Result& result) {
  print("error      %.1f dB SQNR on the held-out images, %.1f dB on those that chose\n", result.held_out.sqnr(),
        result.tune.sqnr());
  if (!result.has_classes) return;
  const int8::OutputError& e = result.held_out;
  print(
      "top-1      %zu of %zu held-out images: at least %.1f %% with 95 %% confidence (agreement with the float "
      "network, "
      "not accuracy)\n",
      e.agreeing, e.images, 100 * int8::lower_limit(e.agreeing, e.images));
}

// ": 299 held-out images without a difference would"
std::string needed_text(const int8::Bound& bound, const int8::OutputError& error) {
  const size_t images = bound.images_to_prove(error);
  if (images == 0) return "";
  const bool whole = bound.kind == int8::Bound::Kind::Top1 || bound.kind == int8::Bound::Kind::Lines;
  return ": " + grouped(images) + " held-out images " + (whole ? "without a difference" : "like these") + " would";
}

// Returns whether the held-out images hold the bound.
bool print_bound(const std::string& text, const int8::Bound& bound, const int8::OutputError& e) {
  const std::string reached = bound.reached(e);
  if (!bound.holds(e)) {
    print("bound      %s is broken: the held-out images reach %s\n", text.c_str(), reached.c_str());
    return false;
  }
  std::string shown;
  if (bound.kind != int8::Bound::Kind::Sqnr && std::isfinite(bound.limit(e)))
    shown = printed(", with 95 %% confidence at %s %.4g", bound.kind == int8::Bound::Kind::Depth ? "most" : "least",
                    bound.limit(e));
  if (bound.proven(e)) {
    print("bound      %s holds on the held-out images: %s%s\n", text.c_str(), reached.c_str(), shown.c_str());
    return true;
  }
  print("bound      %s holds on the held-out images (%s%s), which are too few to prove it%s\n", text.c_str(),
        reached.c_str(), shown.c_str(), needed_text(bound, e).c_str());
  return true;
}

double budget_of(const std::string& text) {
  if (text.empty()) return 0;
  char* end = nullptr;
  const bool time = text.starts_with("time=");
  const double value = time ? std::strtod(text.c_str() + 5, &end) : 0;
  if (time && *end == '\0' && end != text.c_str() + 5 && value >= 1 && value <= 100) return value;
  fail("--budget %s: expected time=FACTOR of the fastest network's time, as time=1.1", text.c_str());
}

// A file of `ferry bench --types`, or the name of an instruction set; "": this machine's.
int8::Times times_of(const std::string& device) {
  const std::vector<std::string> sets = int8::Times::sets();
  const std::string name = device.empty() ? instruction_set() : device;
  if (std::find(sets.begin(), sets.end(), name) != sets.end()) return int8::Times::of_set(name);
  if (!fs::exists(device))
    fail("--device %s: there is no such file (`ferry bench --types` writes one), and no rates of that name: %s",
         device.c_str(), join(sets, ", ").c_str());
  return int8::Times::read(device);
}

void print_time(const int8::Times& times, const int8::Prediction& time, size_t operators) {
  print("time       predicted %.2f ms, %.2f of the float network's (%s", time.chosen / 1e3, time.chosen / time.real,
        times.source().c_str());
  if (times.measured() && time.known < operators)
    print("; %zu of %zu operators by rates, for they are not in it", operators - time.known, operators);
  print(")\n");
  if (time.chosen > time.fastest * 1.001)
    print("           %.2f of the fastest Int8 network's\n", time.chosen / time.fastest);
}

// Interleaved runs of both blobs in this process, of all graphs at their declared sizes.
void print_measured(const QuantiseOptions& o, size_t graphs) {
  constexpr int kRuns = 15;
  constexpr double kSeconds = 10;
  std::vector<ModelHandle> models;
  std::vector<SessionHandle> sessions;  // of the float blob's graphs, then of the quantised one's
  for (const std::string& path : {o.model, o.output}) {
    models.push_back(open_model(path));
    for (size_t i = 0; i < graphs; ++i) {
      ferry_session_options options = session_options(o.threads);
      if (graphs > 1) options.graph = ferry_model_graph_name(models.back().get(), i);
      sessions.push_back(create_session(models.back(), options));
      check(ferry_session_run(sessions.back().get()));
    }
  }
  std::vector<double> fastest(sessions.size(), INFINITY);
  int runs = 0;
  for (const Clock::time_point start = Clock::now(); runs < kRuns && seconds_since(start) < kSeconds; ++runs) {
    for (size_t i = 0; i < graphs; ++i) {
      for (const size_t s : {i, graphs + i}) {
        const Clock::time_point begin = Clock::now();
        check(ferry_session_run(sessions[s].get()));
        fastest[s] = std::min(fastest[s], 1e3 * seconds_since(begin));
      }
    }
  }
  const auto half = fastest.begin() + static_cast<std::ptrdiff_t>(graphs);
  const double real = std::accumulate(fastest.begin(), half, 0.0), int8 = std::accumulate(half, fastest.end(), 0.0);
  print(
      "           measured here %.2f ms, %.2f of the float network's: the fastest of %d interleaved runs, %zu "
      "threads\n",
      int8, int8 / real, runs, static_cast<size_t>(report_of(sessions.back().get()).threads));
}

void record(const QuantiseOptions& o, const int8::Split& split, const CostTable* costs, bool equalised, Graph* graph) {
  if (!graph->table.provenance) graph->table.provenance = std::make_unique<fbs::ProvenanceT>();
  std::vector<std::string>& options = graph->table.provenance->options;
  options.push_back("--quantise " + std::to_string(split.count()) + " images" +
                    (o.bound.empty() ? "" : ", " + o.bound) + (o.budget.empty() ? "" : ", " + o.budget));
  if (costs != nullptr) store(*costs, &options);
  if (equalised) options.push_back("--equalised");
  std::sort(options.begin(), options.end());
}

std::vector<std::unique_ptr<Graph>> float_graphs(const QuantiseOptions& o, const ModelHandle& model) {
  std::vector<std::unique_ptr<Graph>> graphs = graphs_of(model->model);
  if (!graphs.front()->table.states.empty())
    fail("%s has states that outlive a run: only networks of one run can be quantised", o.model.c_str());
  for (const auto& graph : graphs)
    if (int8::has_int8_activations(graph->table))
      fail("%s is quantised already: expected the float blob that it was made from", o.model.c_str());
  return graphs;
}

// Writes the blob with a certificate, which this machine must hold. Returns the size.
uint64_t write_certified(const std::vector<std::unique_ptr<Graph>>& graphs, const std::string& path) {
  std::vector<std::unique_ptr<Graph>> copies;
  for (const auto& graph : graphs) copies.push_back(graph->copy());
  const uint64_t bytes = pack_file(*joined(std::move(copies)), {}, path, [&graphs](const fs::path&) {
    Certificates certificates;
    for (const auto& graph : graphs)
      certificates.push_back(int8::has_int8_activations(graph->table) ? int8::certificate_of(*graph) : nullptr);
    return certificates;
  });
  const ModelHandle model = open_model(path);
  ferry_verification v{};
  v.struct_size = sizeof v;
  const ferry_status status = ferry_model_verify(model.get(), nullptr, &v);
  if (status == FERRY_NOT_FOUND) {
    print("certificate  none: no value of the network is the same on every device, or it is too large\n");
    return bytes;
  }
  if (status != FERRY_OK || !v.passed) fs::remove(path);
  check(status);
  if (!v.passed)
    fail("this machine's integers differ from the reference's at '%s': please report it; no blob was written", v.stage);
  print("certificate  %zu stages, equal to the integer reference's here; `ferry verify` compares them elsewhere\n",
        v.stage_count);
  return bytes;
}

// Of a finished blob.
int explain(const QuantiseOptions& o) {
  const ModelHandle model = open_model(o.model);
  const CostTable costs = cost_table(o.model, *model->model);
  print_costs(costs);
  if (!o.page.empty()) write_text_file(o.page, costs_page(costs));
  return kDone;
}

// What another graph of the blob reads on the images of `images`.
class Crops {
 public:
  Crops(const ModelHandle& model, const int8::Split& images, const ThreadOptions& threads) {
    const int8::Samples* from[] = {&images.calibrate, &images.tune, &images.held_out};
    int8::Samples* to[] = {&split_.calibrate, &split_.tune, &split_.held_out};
    ProgressLine line("reading");
    for (size_t i = 0; i < std::size(from); ++i) {
      line.update(static_cast<int>(i), static_cast<int>(std::size(from)));
      // As large a part of the samples as of the images.
      samples_[i] = crops_of(model, *from[i], int8::kMaxSamples * (i == 0 ? 3 : 1) / 5, threads);
      for (const int8::Sample& crop : samples_[i]) to[i]->push_back(&crop);
    }
  }
  const int8::Split& split() const { return split_; }
  bool enough() const {
    return split_.count() >= int8::kMinSamples && !split_.calibrate.empty() && !split_.tune.empty() &&
           !split_.held_out.empty();
  }

 private:
  std::vector<int8::Sample> samples_[3];
  int8::Split split_;
};

// Quantises the graphs of a blob one after the other, each with its own inputs; what came before is on integers when a
// bound judges the answers.
class Quantisation {
 public:
  Quantisation(const QuantiseOptions& o, const int8::Times& times, int8::SearchOptions* search)
      : o_(o), times_(times), search_(*search), model_(open_model(o.model)), graphs_(float_graphs(o, model_)) {
    std::vector<std::string> notes;
    samples_ = load_samples(model_, o.images, &notes);
    split_ = int8::split(samples_, &notes);
    for (const std::string& note : notes) print_error("%s\n", note.c_str());
    if (search_.bound && search_.bound->needs_answers())
      answers_ =
          std::make_unique<TaskAnswers>(open_model(o.model), *search_.bound, o.threads, o.model, graphs_, index_);
    search_.answers = answers_.get();
  }

  // Returns the exit code.
  int run() {
    costs_.title = o_.output;
    for (index_ = 0; index_ < graphs_.size(); ++index_) quantise_graph();
    if (quantised_ == 0) throw int8::NoIntegers(reason_);
    if (several() && answers_ != nullptr) {
      index_ = graphs_.size();  // replaces none
      last_.scores = answers_->compare(*graphs_.front(), split_.held_out);
      held_ = print_bound(o_.bound, *search_.bound, last_);
    }
    if (!held_) {
      print_error("ferry quantise: no blob was written\n");
      return kCheckFailed;
    }
    record(o_, split_, o_.explain ? &costs_ : nullptr, equalised_, graphs_.front().get());
    if (o_.explain && several()) print_costs(costs_);
    const uint64_t bytes = write_certified(graphs_, o_.output), before = fs::file_size(o_.model);
    if (!o_.page.empty()) write_text_file(o_.page, costs_page(costs_));
    print_measured(o_, graphs_.size());
    print("%s  %s, %.2f of the float blob\n", o_.output.c_str(), bytes_text(bytes).c_str(),
          static_cast<double>(bytes) / static_cast<double>(before));
    return kDone;
  }

 private:
  bool several() const { return graphs_.size() > 1; }

  void quantise_graph() {
    if (index_ == 0) return quantise_with(split_);
    const Crops crops(model_, split_, o_.threads);
    if (crops.enough()) return quantise_with(crops.split());
    leave("the task gives it " + std::to_string(crops.split().count()) +
          " different inputs on these images, which are too few");
  }

  void leave(const std::string& reason) {
    reason_ = reason;
    if (several()) print("graph %s stays Float32: %s\n", graphs_[index_]->table.name.c_str(), reason.c_str());
  }

  void quantise_with(const int8::Split& split) {
    Graph& graph = *graphs_[index_];
    int8::Result result;
    try {
      ProgressLine line("quantising");
      search_.progress = [&line](const std::string& step, double fraction) { line.update(step, fraction); };
      result = int8::quantise(graph, split, search_);
    } catch (const int8::NoIntegers& reason) {
      if (!several()) throw;
      return leave(reason.what());
    }
    ++quantised_;
    equalised_ = equalised_ || result.equalised;
    if (several()) print("graph %s\n", graph.table.name.c_str());
    add_costs(several() ? graph.table.name : "", graph, result, &costs_);
    if (o_.explain && !several()) print_costs(costs_);
    print_operators(graph, result);
    print("ranges     %s, %zu of %zu changed\n", int8::name_of(result.rule), result.changed_ranges, result.ranges);
    print("weights    %s%s\n", int8::name_of(result.rounding), result.equalised ? ", channels equalised" : "");
    print("%s     %zu: %zu calibrate, %zu choose, %zu are held out\n", index_ == 0 ? "images" : "inputs", split.count(),
          split.calibrate.size(), split.tune.size(), split.held_out.size());
    print_error_of(result);
    last_ = result.held_out;
    if (search_.bound && !(several() && answers_ != nullptr))
      held_ = print_bound(o_.bound, *search_.bound, result.held_out) && held_;
    print_time(times_, *result.time, result.rows.size());
    graphs_[index_] = std::move(result.graph);
  }

  const QuantiseOptions& o_;
  const int8::Times& times_;
  int8::SearchOptions& search_;
  ModelHandle model_;
  std::vector<std::unique_ptr<Graph>> graphs_;  // those before index_ are on integers
  size_t index_ = 0;
  std::vector<int8::Sample> samples_;
  int8::Split split_;
  std::unique_ptr<TaskAnswers> answers_;
  CostTable costs_;
  int8::OutputError last_;
  std::string reason_;  // why the last graph without integers has none
  size_t quantised_ = 0;
  bool equalised_ = false, held_ = true;
};

}  // namespace

int quantise(const QuantiseOptions& o) {
  if (!o.page.empty() && !o.explain) fail("--html %s: a page of what --explain prints: add it", o.page.c_str());
  if (o.explain && o.images.empty() && o.output.empty()) return explain(o);
  if (o.images.empty()) fail("--images is missing: expected images as the app will see them, or folders of them");
  if (o.output.empty()) fail("-o is missing: expected the name of the blob to write");
  int8::SearchOptions options;
  const int8::Times times = times_of(o.device);
  options.times = &times;
  options.budget = budget_of(o.budget);
  if (!o.bound.empty()) options.bound = int8::Bound::parse(o.bound);
  options.threads = o.threads.count;
  options.explain = o.explain;
  return Quantisation(o, times, &options).run();
}

void add_quantise(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "quantise", "Quantise a float blob to Int8, with a measured error");
  app.footer(
      "\nRuns the float network on the images, which are prepared as `ferry run` does. Three fifths of them measure "
      "the\n"
      "ranges of the activations, one fifth chooses between ranges and roundings by the error of the outputs, and one\n"
      "fifth, which no choice has seen, states the error. The split depends on the images' contents only. 100 or more\n"
      "images as the app will see are best. Convolutions, linear layers and what lies between them compute on Int8;\n"
      "other operators stay Float32.\n"
      "\nExit code: 0 done, 1 the bound is broken on the held-out images, 2 bad usage or input.\n"
      "\nExamples:\n"
      "  ferry quantise m.ferry --images calibration/ -o m8.ferry\n"
      "  ferry quantise m.ferry --images calibration/ --bound top1=99 -o m8.ferry\n"
      "  ferry quantise m.ferry --images calibration/ --explain -o m8.ferry     what each operator costs\n"
      "  ferry quantise m8.ferry --explain --html page.html                     the same again, as a page");
  auto o = std::make_shared<QuantiseOptions>();
  app.add_option("MODEL", o->model, "The float blob; with --explain alone a quantised one").required().type_name("");
  app.add_option("--images", o->images,
                 "Images, or folders of them; .safetensors files if the blob has no preprocessing")
      .type_name("PATH");
  app.add_option("-o,--output", o->output, "The blob to write").type_name("FILE");
  app.add_option("--bound", o->bound,
                 "Release operators to Float32 until this holds: top1=PERCENT of images with\n"
                 "the same best class, sqnr=DECIBEL of the outputs, iou=.98 of masks, boxes=.98\n"
                 "with a partner, depth=.02 relative error, lines=1 of images with equal text")
      .type_name("BOUND");
  app.add_option("--device", o->device,
                 "What operators cost where the blob will run: a file of `ferry bench --types`, or an\n"
                 "instruction set, such as \"arm64 dotprod\". Without it: rates of this machine's")
      .type_name("FILE");
  app.add_option("--budget", o->budget,
                 "Spend time on a smaller error: time=1.1 for at most 1.1 times the fastest network's")
      .type_name("time=FACTOR");
  app.add_flag("--explain", o->explain, "Print what each operator costs; of a quantised blob without --images, again");
  app.add_option("--html", o->page, "With --explain: the same as a page").type_name("FILE");
  add_thread_options(app, &o->threads);
  app.callback([o, exit_code] { *exit_code = quantise(*o); });
}

}  // namespace ferry::cli
