#include "converter/onnx/patterns/loop_body.h"

#include <cctype>
#include <cstdlib>
#include <memory>

namespace ferry::onnx {
namespace {

struct Term {
  enum class Kind { Operator, Name, Number, Omitted, List };
  Kind kind = Kind::Omitted;
  std::string text;  // of operators and names
  double number = 0;
  std::vector<Term> inputs;                       // of operators and lists
  std::map<std::string, std::string> attributes;  // as written
};

// Reads the text of a pattern, which is part of this library.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::map<std::string, Term> lines() {
    std::map<std::string, Term> lines;
    while (next() != '\0') {
      const std::string name = word();
      expect('=');
      lines[name] = term();
    }
    return lines;
  }

 private:
  char next() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front()))) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }
  bool take(char c) {
    if (next() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail("a pattern lacks '%c' before '%.20s'", c, std::string(text_).c_str());
  }
  std::string word() {
    next();
    size_t size = 0;
    const auto belongs = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    while (size < text_.size() && (belongs(text_[size]) || (size == 0 && text_[size] == '-'))) ++size;
    const std::string found(text_.substr(0, size));
    text_.remove_prefix(size);
    return found;
  }

  Term term() {
    if (take('[')) {
      Term list{.kind = Term::Kind::List, .inputs = {term()}};
      expect(']');
      return list;
    }
    const std::string name = word();
    if (name == "-") return {};
    if (name[0] == '-' || std::isdigit(static_cast<unsigned char>(name[0])))
      return {.kind = Term::Kind::Number, .number = std::strtod(name.c_str(), nullptr)};
    Term made{.kind = Term::Kind::Name, .text = name};
    if (!take('(')) return made;
    made.kind = Term::Kind::Operator;
    while (!take(')')) {
      const std::string_view before = text_;
      if (const std::string key = word(); !key.empty() && take('=')) {
        made.attributes[key] = word();
      } else {
        text_ = before;
        made.inputs.push_back(term());
      }
      take(',');
    }
    return made;
  }

  std::string_view text_;
};

// A value of the body: a constant with one element, an omitted input, or any other by its name.
struct Item {
  std::string name;  // of a constant: its name outside of the loop, if it has one
  std::optional<double> number;
  bool list = false;  // the number has one dimension

  bool operator==(const Item& b) const {
    return number == b.number && list == b.list && (number.has_value() || name == b.name);
  }
};

Item number_item(double number, bool list) { return {.name = "", .number = number, .list = list}; }

// Whether an attribute is what is written.
bool equals(const Attribute& attribute, const std::string& text) {
  using Kind = Attribute::Kind;
  const auto number = [&](double value) { return value == std::strtod(text.c_str(), nullptr); };
  switch (attribute.kind) {
    case Kind::Int: return number(static_cast<double>(attribute.ints.front()));
    case Kind::Float: return number(attribute.floats.front());
    case Kind::String: return attribute.strings.front() == text;
    case Kind::Tensor: return attribute.tensor.elements() == 1 && number(attribute.tensor.floats().front());
    default: return false;
  }
}

class Body {
 public:
  Body(const Matcher& matcher, const Branch& body, std::map<std::string, Term> lines)
      : matcher_(matcher), body_(body), lines_(std::move(lines)) {
    for (const Node& node : body.nodes)
      for (const std::string& output : node.outputs) producers_[output] = &node;
    for (const std::string& input : body.inputs) producers_[input] = nullptr;
  }

  void bind(const std::string& name, const std::string& value) { bound_[name] = item(value); }
  bool matches(const Term& term, const std::string& value) { return matches(term, item(value)); }
  const std::map<std::string, Item>& bound() const { return bound_; }

 private:
  // The node of the body that computes a value; null if none does.
  const Node* producer(const std::string& value) const {
    const auto found = producers_.find(value);
    return found == producers_.end() ? nullptr : found->second;
  }

  const Array* constant(const std::string& value) const {
    if (const auto found = body_.constants.find(value); found != body_.constants.end()) return &found->second;
    const Node* node = producer(value);
    if (!node) return producers_.contains(value) ? nullptr : matcher_.constant(value);
    const auto found = is(*node, "Constant") ? node->attributes.find("value") : node->attributes.end();
    return found != node->attributes.end() && found->second.kind == Attribute::Kind::Tensor ? &found->second.tensor
                                                                                            : nullptr;
  }

  static std::vector<int64_t> axes(const Node& node) {
    const auto found = node.attributes.find("axes");
    return found != node.attributes.end() && found->second.kind == Attribute::Kind::Ints ? found->second.ints
                                                                                         : std::vector<int64_t>{};
  }

  // The inputs; older opsets have axes as an attribute.
  std::vector<Item> inputs(const Node& node) {
    std::vector<Item> list;
    for (const std::string& input : node.inputs) list.push_back(item(input));
    if (const std::vector<int64_t> a = axes(node); a.size() == 1)
      list.push_back(number_item(static_cast<double>(a[0]), true));
    return list;
  }

  // x where the value is Unsqueeze(x, 0).
  std::optional<std::string> unsqueezed(const std::string& value) const {
    const Node* node = producer(value);
    if (!node || !is(*node, "Unsqueeze")) return {};
    const bool along_0 = node->inputs.size() == 2 ? as_number(node->inputs[1]) == number_item(0, true)
                                                  : axes(*node) == std::vector<int64_t>{0};
    return along_0 ? std::optional(node->inputs[0]) : std::nullopt;
  }

  // A constant with one element and at most one dimension, or an omitted input.
  std::optional<Item> as_number(const std::string& value) const {
    if (value.empty()) return Item{};
    const Array* array = constant(value);
    if (!array || array->elements() > 1 || array->dims.size() > 1) return {};
    if (array->elements() == 0) return Item{};
    Item item = number_item(array->floats().front(), array->dims.size() == 1);
    if (!producers_.contains(value) && !body_.constants.contains(value)) item.name = value;
    return item;
  }

  Item item(std::string value) {
    for (const Node* node = producer(value); node && is(*node, "Identity") && spend(); node = producer(value))
      value = node->inputs[0];
    if (const auto number = as_number(value)) return *number;
    const std::optional<std::string> inner = unsqueezed(value);
    const std::optional<Item> scalar = inner ? as_number(*inner) : std::nullopt;
    if (scalar && scalar->number && !scalar->list) return number_item(*scalar->number, true);
    return {.name = producers_.contains(value) ? value : matcher_.origin(value), .number = {}};
  }

  bool matches(const Term& term, const Item& value) {
    if (!spend()) return false;
    switch (term.kind) {
      case Term::Kind::Omitted: return value == Item{};
      case Term::Kind::Number: return !value.list && value.number == term.number;
      case Term::Kind::List: {
        if (value.number) return value.list && matches(term.inputs[0], number_item(*value.number, false));
        const std::optional<std::string> inner = unsqueezed(value.name);
        return inner && matches(term.inputs[0], item(*inner));
      }
      case Term::Kind::Name: return matches_name(term.text, value);
      case Term::Kind::Operator: return matches_operator(term, value);
    }
    return false;
  }

  bool matches_name(const std::string& name, const Item& value) {
    const auto found = bound_.find(name);
    if (found != bound_.end() && found->second == value) return true;
    const auto line = lines_.find(name);
    if (line == lines_.end()) {
      // A value from outside: every iteration reads the same.
      if (found != bound_.end() || value == Item{} || producers_.contains(value.name)) return false;
    } else if (!matches(line->second, value)) {  // files compute some values several times
      return false;
    }
    bound_[name] = value;
    return true;
  }

  bool matches_operator(const Term& term, const Item& value) {
    const Node* node = producer(value.name);
    if (!node || !is(*node, term.text) || node->outputs.size() != 1 || !node->branches.empty()) return false;
    // Attributes that are not written have their default, which is 0.
    for (const auto& [key, attribute] : node->attributes) {
      const auto written = term.attributes.find(key);
      if (key != "axes" && !equals(attribute, written == term.attributes.end() ? "0" : written->second)) return false;
    }
    for (const auto& written : term.attributes)
      if (!node->attributes.contains(written.first)) return false;
    const std::vector<Item> list = inputs(*node);
    if (list.size() != term.inputs.size()) return false;
    for (size_t i = 0; i < list.size(); ++i)
      if (!matches(term.inputs[i], list[i])) return false;
    return true;
  }

  bool spend() { return --budget_ > 0; }

  const Matcher& matcher_;
  const Branch& body_;
  std::map<std::string, Term> lines_;
  std::unordered_map<std::string, const Node*> producers_;  // of what the body computes; null for its inputs
  std::map<std::string, Item> bound_;
  int budget_ = 10000;  // files may repeat what they compute
};

}  // namespace

std::optional<std::map<std::string, std::string>> match_loop(const Matcher& matcher, const Node& loop,
                                                             std::string_view text) {
  if (!is(loop, "Loop") || loop.branches.size() != 1 || loop.inputs[0].empty()) return {};
  const Branch& body = loop.branches.front();
  const size_t states = loop.outputs.size();
  if (body.inputs.size() != states + 2 || body.outputs.size() != states + 1 || loop.inputs.size() < states + 2)
    return {};
  if (!loop.inputs[1].empty() && matcher.number(loop.inputs[1]) != 1.0) return {};
  const std::map<std::string, Term> lines = Parser(text).lines();
  if (!lines.contains("next" + std::to_string(states - 1)) || lines.contains("next" + std::to_string(states)))
    return {};
  Body matched(matcher, body, lines);
  matched.bind("i", body.inputs[0]);
  for (size_t k = 0; k < states; ++k) matched.bind("state" + std::to_string(k), body.inputs[k + 2]);
  if (!matched.matches(Term{.kind = Term::Kind::Number, .number = 1}, body.outputs[0])) return {};
  for (size_t k = 0; k < states; ++k)
    if (!matched.matches(lines.at("next" + std::to_string(k)), body.outputs[k + 1])) return {};
  std::map<std::string, std::string> outside;
  for (const auto& [name, item] : matched.bound())
    if (!item.name.empty() && !lines.contains(name)) outside[name] = item.name;
  return outside;
}

}  // namespace ferry::onnx
