#include "cli/differences.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/graph_text.h"
#include "cli/parameters.h"
#include "cli/sdk.h"
#include "cli/summary.h"
#include "cli/text.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/type_rules.h"

namespace ferry::cli {
namespace {

using Operators = flatbuffers::Vector<flatbuffers::Offset<fbs::Operator>>;
using Ports = flatbuffers::Vector<flatbuffers::Offset<fbs::Port>>;

// The table serialized again, so that equal tables have equal bytes.
template <typename Table>
std::string packed(const typename Table::NativeTableType& unpacked) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Table::Pack(builder, &unpacked));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

template <typename Table>
std::string packed(const Table* table) {
  if (table == nullptr) return "";
  typename Table::NativeTableType unpacked;
  table->UnPackTo(&unpacked);
  return packed<Table>(unpacked);
}

// What operators are matched by: kind and module.
std::string key_of(const fbs::Operator& op) {
  const std::string module = text_of(op.name());
  return std::string(op_name(op.params_type())) + (module.empty() ? "" : " " + module);
}

std::string parameters_of(const fbs::Operator& op) {
  fbs::OperatorT unpacked;
  op.UnPackTo(&unpacked);
  return parameters_text(unpacked);
}

bool same_parameters(const fbs::Operator& a, const fbs::Operator& b) {
  const auto bytes = [](const fbs::Operator& op) {
    fbs::OperatorT unpacked;
    op.UnPackTo(&unpacked);
    unpacked.name.clear();
    unpacked.inputs.clear();
    unpacked.outputs.clear();
    return packed<fbs::Operator>(unpacked);
  };
  return bytes(a) == bytes(b);
}

// The longest common subsequence of operators by key, as pairs of indices (Hunt and Szymanski, 1977: the longest
// increasing sequence of positions).
std::vector<std::pair<unsigned, unsigned>> match(const Operators& a, const Operators& b) {
  std::map<std::string, std::vector<unsigned>> positions;  // in b, in descending order
  for (unsigned i = b.size(); i-- > 0;) positions[key_of(*b.Get(i))].push_back(i);
  struct Link {
    unsigned a, b;
    int before;
  };
  std::vector<Link> links;
  std::vector<int> ends;  // by length: the last link of the best sequence
  for (unsigned i = 0; i < a.size(); ++i) {
    const auto found = positions.find(key_of(*a.Get(i)));
    if (found == positions.end()) continue;
    constexpr size_t kMaxLinks = 1 << 22;  // a malicious file may have more; the rest stays unmatched
    for (const unsigned place : found->second) {
      if (links.size() == kMaxLinks) break;
      const auto less = [&](int link, unsigned at) { return links[static_cast<size_t>(link)].b < at; };
      const auto at = std::lower_bound(ends.begin(), ends.end(), place, less);
      links.push_back({i, place, at == ends.begin() ? -1 : *(at - 1)});
      const int link = static_cast<int>(links.size()) - 1;
      if (at == ends.end()) {
        ends.push_back(link);
      } else {
        *at = link;
      }
    }
  }
  std::vector<std::pair<unsigned, unsigned>> pairs;
  for (int link = ends.empty() ? -1 : ends.back(); link >= 0; link = links[static_cast<size_t>(link)].before)
    pairs.emplace_back(links[static_cast<size_t>(link)].a, links[static_cast<size_t>(link)].b);
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

bool same_bytes(const StoredConstant& a, const StoredConstant& b) {
  const auto same = [](const auto& x, const auto& y) { return std::equal(x.begin(), x.end(), y.begin(), y.end()); };
  return to_string(a.type) == to_string(b.type) && a.shape == b.shape && same(a.bytes, b.bytes) &&
         same(a.scales, b.scales);
}

class GraphComparison {
 public:
  GraphComparison(const Model& a, const Model& b) : a_(a), b_(b) {}

  GraphDifferences compare() {
    compare_ports("input", a_.graph().inputs(), b_.graph().inputs());
    compare_ports("output", a_.graph().outputs(), b_.graph().outputs());
    compare_ports("tap", a_.graph().taps(), b_.graph().taps());
    compare_preprocessing(a_.graph().preprocess(), b_.graph().preprocess());
    if (packed(a_.graph().postprocess()) != packed(b_.graph().postprocess()))
      note_pair("task", task_text(a_.graph()), task_text(b_.graph()));
    compare_labels();
    compare_operators();
    return std::move(out_);
  }

  bool bits() const { return bits_; }

 private:
  void compare_ports(const std::string& kind, const Ports* a, const Ports* b) {
    std::map<std::string, Difference> named;
    const auto note = [&](const Model& model, const Ports* ports, std::string Difference::*side) {
      for (unsigned i = 0; ports && i < ports->size(); ++i) {
        const fbs::Port& port = *ports->Get(i);
        Difference& difference = named[port.name()->str()];
        difference.what = kind + " " + port.name()->str();
        difference.*side = tensor_text(model, port.tensor());
      }
    };
    note(a_, a, &Difference::a);
    note(b_, b, &Difference::b);
    for (const auto& [name, difference] : named)
      if (difference.a != difference.b) out_.ports.push_back(difference);
  }

  // The same words for two that differ say nothing: what they leave out must differ.
  void note_pair(const std::string& what, const std::string& a, const std::string& b) {
    out_.ports.push_back({what, a, a == b ? b + ", with other parameters" : b});
  }

  void compare_preprocessing(const fbs::Preprocess* a, const fbs::Preprocess* b) {
    if (packed(a) == packed(b)) return;
    if (a == nullptr || b == nullptr) {
      out_.ports.push_back({"preprocessing", preprocess_text(a), preprocess_text(b)});
      return;
    }
    const auto of_a = preprocess_parts(*a), of_b = preprocess_parts(*b);
    const size_t before = out_.ports.size();
    for (size_t i = 0; i < of_a.size(); ++i)
      if (of_a[i].second != of_b[i].second)
        out_.ports.push_back({"preprocessing, " + of_a[i].first, of_a[i].second, of_b[i].second});
    if (out_.ports.size() == before) note_pair("preprocessing", preprocess_text(a), preprocess_text(b));
  }

  void compare_labels() {
    const auto *a = a_.graph().labels(), *b = b_.graph().labels();
    const auto count = [](const auto* list) { return list ? list->size() : 0; };
    unsigned same = 0;
    while (same < std::min(count(a), count(b)) && text_of(a->Get(same)) == text_of(b->Get(same))) ++same;
    if (same == count(a) && same == count(b)) return;
    const auto text = [&](const auto* list) {
      if (same < count(list)) return "label " + std::to_string(same) + " '" + text_of(list->Get(same)) + "'";
      return std::to_string(count(list)) + " labels";
    };
    out_.ports.push_back({"labels", text(a), text(b)});
  }

  void compare_operators() {
    const Operators &a = *a_.graph().operators(), &b = *b_.graph().operators();
    unsigned next_a = 0, next_b = 0;
    const auto alone = [&](unsigned end_a, unsigned end_b) {
      for (; next_a < end_a; ++next_a) add_alone(a_, *a.Get(next_a), &Difference::a);
      for (; next_b < end_b; ++next_b) add_alone(b_, *b.Get(next_b), &Difference::b);
    };
    for (const auto& [at_a, at_b] : match(a, b)) {
      alone(at_a, at_b);
      compare_pair(*a.Get(at_a), *b.Get(at_b));
      next_a = at_a + 1;
      next_b = at_b + 1;
    }
    alone(a.size(), b.size());
  }

  void add_alone(const Model& model, const fbs::Operator& op, std::string Difference::*side) {
    Difference difference{.what = key_of(op), .a = "", .b = ""};
    difference.*side = to_string(model.shape(output_of(op)));
    out_.operators_differing.push_back(std::move(difference));
  }

  void compare_pair(const fbs::Operator& a, const fbs::Operator& b) {
    ++out_.operators;
    const Shape shape_a = a_.shape(output_of(a)), shape_b = b_.shape(output_of(b));
    std::string of_a, of_b;
    const auto add = [&](const std::string& to_a, const std::string& to_b) {
      of_a += (of_a.empty() ? "" : ", ") + to_a;
      of_b += (of_b.empty() ? "" : ", ") + to_b;
    };
    if (shape_a != shape_b) add(to_string(shape_a), to_string(shape_b));
    if (!same_parameters(a, b)) add(parameters_of(a), parameters_of(b));
    const unsigned inputs = std::min(a.inputs()->size(), b.inputs()->size());
    if (a.inputs()->size() != b.inputs()->size())
      add(std::to_string(a.inputs()->size()) + " inputs", std::to_string(b.inputs()->size()) + " inputs");
    if (!of_a.empty() && of_a == of_b) of_b = "other parameters";
    if (!of_a.empty()) out_.operators_differing.push_back({key_of(a), of_a, of_b});
    for (unsigned i = 0; i < inputs; ++i) {
      const TensorId in_a = a.inputs()->Get(i), in_b = b.inputs()->Get(i);
      if (a_.is_constant(in_a) && b_.is_constant(in_b)) compare_weights(key_of(a), i, in_a, in_b);
    }
  }

  void compare_weights(const std::string& op, unsigned input, TensorId a, TensorId b) {
    if (!seen_.emplace(a, b).second) return;
    ++out_.weights;
    const StoredConstant of_a = a_.stored(a), of_b = b_.stored(b);
    if (same_bytes(of_a, of_b)) return;
    const std::string name = text_of(a_.tensor(a).name());
    WeightDifference difference{.name = name.empty() ? op + ", input " + std::to_string(input) : name,
                                .a = tensor_text(a_, a),
                                .b = tensor_text(b_, b)};
    if (of_a.shape == of_b.shape) measure(of_a, of_b, &difference);
    if (difference.measured && difference.largest == 0 && difference.a == difference.b) {
      bits_ = true;
      return;
    }
    out_.weights_differing.push_back(std::move(difference));
  }

  static void measure(const StoredConstant& a, const StoredConstant& b, WeightDifference* out) {
    constexpr size_t kPart = 1 << 16;
    std::vector<float> of_a(kPart), of_b(kPart);
    const auto count = static_cast<size_t>(a.shape.elements());
    for (size_t begin = 0; begin < count; begin += kPart) {
      const size_t size = std::min(kPart, count - begin);
      read_elements(a, begin, std::span(of_a).first(size));
      read_elements(b, begin, std::span(of_b).first(size));
      for (size_t i = 0; i < size; ++i) {
        const double difference = std::abs(static_cast<double>(of_a[i]) - static_cast<double>(of_b[i]));
        const bool same = of_a[i] == of_b[i] || (std::isnan(of_a[i]) && std::isnan(of_b[i]));
        if (!same) out->largest = std::isnan(difference) ? INFINITY : std::max(out->largest, difference);
        if (std::isfinite(of_a[i])) out->maximum = std::max(out->maximum, std::abs(static_cast<double>(of_a[i])));
      }
    }
    out->measured = true;
  }

  const Model &a_, &b_;
  std::set<std::pair<TensorId, TensorId>> seen_;
  GraphDifferences out_;
  bool bits_ = false;
};

std::string states_of(const Model& model) {
  std::vector<std::string> all;
  const auto* states = model.root().states();
  for (unsigned i = 0; states && i < states->size(); ++i) all.push_back(packed(states->Get(i)));
  return join(all, "");
}

// Of two lists of states that differ: their sizes, or the first pair that differs.
Difference states_difference(const Model& a, const Model& b) {
  const auto *of_a = a.root().states(), *of_b = b.root().states();
  const unsigned count_a = of_a ? of_a->size() : 0, count_b = of_b ? of_b->size() : 0;
  if (count_a != count_b) return {"states", std::to_string(count_a) + " states", std::to_string(count_b) + " states"};
  unsigned i = 0;
  while (i + 1 < count_a && packed(of_a->Get(i)) == packed(of_b->Get(i))) ++i;
  const auto text = [i](const auto& list) { return text_of(list->Get(i)->name()) + ", " + state_text(*list->Get(i)); };
  return {"state " + std::to_string(i), text(of_a), text(of_b)};
}

std::string graph_summary(const Model& model, size_t index) {
  std::shared_ptr<const Model> graph;
  check(model.open_graph(index, &graph));
  return std::to_string(graph->graph().operators()->size()) + " operators";
}

}  // namespace

size_t Differences::count() const {
  size_t sum = blob.size();
  for (const GraphDifferences& graph : graphs)
    sum += graph.ports.size() + graph.operators_differing.size() + graph.weights_differing.size();
  return sum;
}

Differences differences_of(const std::string& a, const std::string& b) {
  std::shared_ptr<Model> first, second;
  check(Model::open(a.c_str(), &first));
  check(Model::open(b.c_str(), &second));
  Differences out;
  if (states_of(*first) != states_of(*second)) {
    out.blob.push_back(states_difference(*first, *second));
  }
  for (size_t i = 0; i < second->graph_count(); ++i)
    if (size_t other = 0; !first->find_graph(second->graph_name(i), &other).ok())
      out.blob.push_back(
          {"graph " + std::string(second->graph_name(i)), "", graph_summary(*second, i) + ", only in the second blob"});
  for (size_t i = 0; i < first->graph_count(); ++i) {
    const char* name = first->graph_name(i);
    size_t other = 0;
    // The first graph is the model, whatever it is called.
    const bool found = second->find_graph(name, &other).ok() || i == 0;
    if (!found) {
      out.blob.push_back({"graph " + std::string(name), graph_summary(*first, i) + ", only in the first blob", ""});
      continue;
    }
    std::shared_ptr<const Model> of_a, of_b;
    check(first->open_graph(i, &of_a));
    check(second->open_graph(other, &of_b));
    GraphComparison comparison(*of_a, *of_b);
    out.graphs.push_back(comparison.compare());
    out.graphs.back().name = name;
    out.bits |= comparison.bits();
  }
  return out;
}

}  // namespace ferry::cli
