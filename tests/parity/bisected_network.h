// For tests of `ferry bisect`: networks of fixtures with a planted fault.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/bisect/bisect.h"
#include "cli/sdk.h"
#include "converter/checkpoint/safetensors.h"
#include "converter/pack/pack.h"
#include "tests/parity/checkpoint/fixture_checkpoint.h"
#include "tests/parity/planted_families.h"
#include "tests/shared.h"
#include "tests/support/paths.h"
#include "tests/support/scratch_folder.h"

namespace ferry::bisect {

inline std::unique_ptr<parity::Network> run_on_cpu(std::span<const std::byte> blob, const parity::Fixture& fixture) {
  return std::make_unique<parity::Network>(blob, fixture, cli::session_options(1));
}

// A weight's position by output, row, column and input.
struct WeightIndex {
  int o, y, x, i;
};

// A network and its fixture; tests make the graph wrong at one point.
class BisectedNetwork : public ::testing::Test {
 protected:
  // `model`: empty if the fixture's config.json says it.
  void set_up(const char* fixture, const char* model) {
    const std::filesystem::path own = source_folder() / "tests/data/fixtures" / fixture;
    if (!std::filesystem::exists(own) && shared_dir().empty())
      GTEST_SKIP() << "no ../shared with the parity fixtures (set FERRY_SHARED)";
    const std::filesystem::path folder = std::filesystem::exists(own) ? own : shared_dir() / "fixtures" / fixture;
    fixture_ = parity::read_fixture(folder);
    options_.checkpoint = folder_.path() / "right.safetensors";
    if (*model) options_.settings.set("model", model);
    parity::make_checkpoint(folder / "manifest.json", options_.checkpoint);
    if (std::filesystem::exists(folder / "config.json")) std::filesystem::copy(folder / "config.json", config());
    right_ = open_checkpoint(options_.checkpoint);
  }

  std::filesystem::path config() const { return folder_.path() / "config.json"; }

  // ---- a wrong graph: from the right checkpoint, or from one with a changed tensor, which the blob's provenance hides
  void from_right(bool keep_taps) {
    options_.settings.set_flag("keep-taps", keep_taps);
    graph_ = convert_to_graph(options_);
  }
  template <typename Change>  // of std::vector<float>&
  void from_changed(bool keep_taps, const std::string& name, const Change& change) {
    auto tensors = right_->tensors();
    std::vector<float> values = tensors.at(name).to_floats();
    change(values);
    tensors.at(name).bytes = std::as_bytes(std::span(values));
    write_safetensors(folder_.path() / "wrong.safetensors", tensors);
    options_.settings.set_flag("keep-taps", keep_taps);
    ConvertOptions wrong = options_;
    wrong.checkpoint = folder_.path() / "wrong.safetensors";
    graph_ = convert_to_graph(wrong);
    graph_->table.provenance->source_sha256 = right_->sha256();
  }

  // A graph built by families with a planted fault. The search uses the same families, or the right ones.
  enum class Search { ByPlanted, ByRight };
  void from_planted(Plant plant, bool keep_taps, Search search) {
    planted_ = std::make_unique<PlantedFamilies>(plant);
    options_.settings.set_flag("keep-taps", keep_taps);
    graph_ = convert_to_graph(planted_->all(), options_);
    families_ = search == Search::ByPlanted ? planted_->all() : families();
  }

  // The operator of that kind in that module, in either graph.
  fbs::OperatorT& op(const std::string& name, fbs::OpParams type) {
    for (fbs::GraphT* table : tables_of(graph_->table))
      for (const auto& op : table->operators)
        if (op->name == name && op->params.type == type) return *op;
    throw Error("no operator " + name);
  }
  fbs::OperatorT& conv(const std::string& name) { return op(name, fbs::OpParams::Conv2d); }

  template <typename Map>  // map(position, reader of the old values, extents)
  void reweigh(fbs::OperatorT& op, const Map& map) {
    const TensorId weight = op.inputs[1];
    const Shape s = graph_->shape(weight);
    const WeightIndex n = s.rank == 4 ? WeightIndex{s[0], s[1], s[2], s[3]} : WeightIndex{s[0], 1, 1, s[1]};
    const std::vector<double> old = graph_->values(weight);
    const auto at = [&](const WeightIndex& p) {
      return old[static_cast<size_t>(((p.o * n.y + p.y) * n.x + p.x) * n.i + p.i)];
    };
    std::vector<double> values;
    for (int o = 0; o < n.o; ++o)
      for (int y = 0; y < n.y; ++y)
        for (int x = 0; x < n.x; ++x)
          for (int i = 0; i < n.i; ++i) values.push_back(map(at, WeightIndex{o, y, x, i}, n));
    op.inputs[1] = graph_->add_constant(graph_->at(weight).name, s, std::move(values)).id;
    forget_unread();
  }

  void set_constant(fbs::OperatorT& op, size_t input, double value) {
    const Shape s = graph_->shape(op.inputs[input]);
    op.inputs[input] =
        graph_->add_constant("constant", s, std::vector<double>(static_cast<size_t>(s.elements()), value)).id;
    forget_unread();
  }

  // Packing refuses unread constants. Those that a language model's second graph reads become unread too, because that
  // graph is left out of the search.
  void forget_unread() {
    if (!graph_->table.graphs.empty()) {
      graph_->table.graphs.clear();
      graph_->table.postprocess = nullptr;
      graph_->table.text.clear();
    }
    PerTensor<bool> keep(graph_->table.tensors.size(), false);
    for (const auto& op : graph_->table.operators) {
      for (TensorId t : op->inputs) keep[t] = true;
      for (TensorId t : op->outputs) keep[t] = true;
    }
    for (const auto& port : graph_->table.inputs) keep[port->tensor] = true;
    graph_->compact(keep);
  }

  Finding find(const RunNetwork& run = run_on_cpu) {
    const auto start = std::chrono::steady_clock::now();
    const Finding finding = bisect(pack(*graph_), options_, fixture_, run, families_);
    EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 60);
    size_t operators = 0;
    for (const fbs::GraphT* table : tables_of(graph_->table)) operators += table->operators.size();
    EXPECT_LE(static_cast<double>(finding.runs), std::log2(static_cast<double>(operators)) + 1);
    return finding;
  }

  void expect(const Finding& f, Fault fault, const std::string& name, const std::string& cause) {
    EXPECT_EQ(f.fault, fault) << f.first;
    EXPECT_EQ(f.name, name) << f.first;
    EXPECT_NE((f.cause.empty() ? f.pattern : f.cause).find(cause), std::string::npos)
        << "cause: " << f.cause << ", leaves " << f.cause_error << " of " << f.error << "; pattern: " << f.pattern;
    EXPECT_FALSE(f.worst.empty());
    EXPECT_FALSE(f.parameters.empty());
  }
  void expect_conversion(const std::string& name, const std::string& cause) {
    expect(find(), Fault::Conversion, name, cause);
  }

  ScratchFolder folder_;
  parity::Fixture fixture_;
  ConvertOptions options_;
  std::unique_ptr<PlantedFamilies> planted_;
  Families families_ = families();  // the families that the search builds the graph with
  std::shared_ptr<const Checkpoint> right_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace ferry::bisect
