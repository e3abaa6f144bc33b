#include "sdk/text/template/filters.h"
#include "sdk/text/template/parser.h"
#include "sdk/text/template/tests.h"

namespace ferry::jinja {
namespace {

struct Comparing {
  std::string_view word;
  Operation operation;
};
constexpr Comparing kComparisons[] = {
    {"==", Operation::Equal},  {"!=", Operation::NotEqual},     {"<", Operation::Less}, {"<=", Operation::LessEqual},
    {">", Operation::Greater}, {">=", Operation::GreaterEqual}, {"in", Operation::In}};

}  // namespace

Node* Parser::make(Kind kind) {
  auto* node = work_->make<Node>();
  if (node == nullptr) {
    spare_ = {};
    node = &spare_;
  }
  node->kind = kind;
  node->line = lexer_.line();
  return node;
}

Node* Parser::unexpected(const char* expected) {
  work_->line = lexer_.line();
  if (token_.kind == Token::End)
    work_->fail("the template ends where %s is expected", expected);
  else if (token_.kind == Token::OutputEnd || token_.kind == Token::BlockEnd)
    work_->fail("the tag ends where %s is expected", expected);
  else
    work_->fail("%s is expected, not '%.*s'", expected, static_cast<int>(std::min<size_t>(token_.text.size(), 40)),
                token_.text.data());
  return make(Kind::Literal);
}

bool Parser::skip(std::string_view word) {
  if (!token_.is(word)) return false;
  advance();
  return true;
}

void Parser::expect(std::string_view word) {
  if (skip(word)) return;
  char text[16] = "'";
  std::memcpy(text + 1, word.data(), word.size());
  text[1 + word.size()] = '\'';
  unexpected(text);
}

Value Parser::expect_name() {
  if (token_.kind != Token::Name) unexpected("a name");
  const Value name = string(token_.text);
  advance();
  return name;
}

// Expressions separated by commas; a single one is not a tuple.
Node* Parser::parse_tuple(bool conditional) {
  const Deeper deeper(*this);
  Node* first = conditional ? parse_expression() : parse_or();
  if (!token_.is(",")) return first;
  Listing items;
  items.add(first);
  while (!work_->failed() && skip(",")) {
    if (token_.kind == Token::OutputEnd || token_.kind == Token::BlockEnd || token_.is(")")) break;
    items.add(conditional ? parse_expression() : parse_or());
  }
  return make(Kind::Tuple, items.first);
}

Node* Parser::parse_expression() {
  const Deeper deeper(*this);
  const Node* const unknown = unknown_;
  Node* value = parse_or();
  while (!work_->failed() && skip("if")) {
    unknown_ = unknown;  // what was parsed is conditional
    Node* conditional = make(Kind::Conditional, conditionally([&] { return parse_or(); }));
    conditional->second = value;
    if (skip("else")) conditional->third = conditionally([&] { return parse_expression(); });
    value = conditional;
  }
  return value;
}

// Adds a step to a chain, which is created with the first operand if necessary.
Node* Parser::chained(Kind kind, Node* first, Listing* steps, Operation operation, Node* other) {
  Node* chain = steps->first != nullptr ? first : make(kind, first);
  Node* step = make(Kind::Step, other);
  step->operation = operation;
  steps->add(step);
  chain->second = steps->first;
  return chain;
}

Node* Parser::parse_or() {
  Node* value = parse_and();
  Listing steps;
  while (!work_->failed() && skip("or"))
    value = chained(Kind::Logic, value, &steps, Operation::Or, conditionally([&] { return parse_and(); }));
  return value;
}

Node* Parser::parse_and() {
  Node* value = parse_not();
  Listing steps;
  while (!work_->failed() && skip("and"))
    value = chained(Kind::Logic, value, &steps, Operation::And, conditionally([&] { return parse_not(); }));
  return value;
}

Node* Parser::parse_not() {
  const Deeper deeper(*this);
  if (work_->failed() || !skip("not")) return parse_comparison();
  return make(Kind::Not, parse_not());
}

Node* Parser::parse_comparison() {
  Node* value = parse_sum();
  Listing steps;
  while (!work_->failed()) {
    const Comparing* found = nullptr;
    for (const Comparing& comparing : kComparisons)
      if (token_.is(comparing.word)) found = &comparing;
    if (found != nullptr) {
      advance();
      value = chained(Kind::Comparison, value, &steps, found->operation, parse_sum());
    } else if (token_.is("not") && following().is("in")) {
      advance();
      advance();
      value = chained(Kind::Comparison, value, &steps, Operation::NotIn, parse_sum());
    } else {
      break;
    }
  }
  return value;
}

Node* Parser::parse_sum() {
  Node* value = parse_join();
  Listing steps;
  while (!work_->failed() && (token_.is("+") || token_.is("-"))) {
    const Operation operation = token_.is("+") ? Operation::Add : Operation::Subtract;
    advance();
    value = chained(Kind::Chain, value, &steps, operation, parse_join());
  }
  return value;
}

Node* Parser::parse_join() {
  Node* value = parse_product();
  Listing steps;
  while (!work_->failed() && skip("~")) value = chained(Kind::Chain, value, &steps, Operation::Join, parse_product());
  return value;
}

Node* Parser::parse_product() {
  Node* value = parse_power();
  Listing steps;
  while (!work_->failed() && (token_.is("*") || token_.is("/") || token_.is("//") || token_.is("%"))) {
    const Operation operation = token_.is("*")    ? Operation::Multiply
                                : token_.is("/")  ? Operation::Divide
                                : token_.is("//") ? Operation::FloorDivide
                                                  : Operation::Modulo;
    advance();
    value = chained(Kind::Chain, value, &steps, operation, parse_power());
  }
  return value;
}

Node* Parser::parse_power() {
  Node* value = parse_unary(true);
  Listing steps;
  while (!work_->failed() && skip("**"))
    value = chained(Kind::Chain, value, &steps, Operation::Power, parse_unary(true));
  return value;
}

Node* Parser::parse_unary(bool filters) {
  const Deeper deeper(*this);
  Node* value = nullptr;
  if (work_->failed()) return make(Kind::Literal);
  if (token_.is("-") || token_.is("+")) {
    const Kind kind = token_.is("-") ? Kind::Negative : Kind::Positive;
    advance();
    value = make(kind, parse_unary(false));
  } else {
    value = parse_primary();
  }
  Listing list;
  parse_postfixes(&list, filters);
  if (list.first == nullptr) return value;
  Node* postfix = make(Kind::Postfix, value);
  postfix->second = list.first;
  return postfix;
}

Node* Parser::parse_primary() {
  if (token_.kind == Token::Literal) {
    Node* literal = make(Kind::Literal);
    literal->value = token_.value;
    advance();
    if (!literal->value.is(Type::String) || token_.kind != Token::Literal || !token_.value.is(Type::String))
      return literal;
    const size_t mark = work_->length();  // adjacent string literals are concatenated
    work_->append(literal->value.uncharged());
    for (; token_.kind == Token::Literal && token_.value.is(Type::String); advance())
      work_->append(token_.value.uncharged());
    literal->value = work_->take(mark);
    return literal;
  }
  if (token_.kind == Token::Name) {
    const std::string_view name = token_.text;
    Node* node = make(Kind::Literal);
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      node->value = boolean(name[0] == 't' || name[0] == 'T');
    } else if (name == "none" || name == "None") {
      node->value = none();
    } else {
      node->kind = Kind::Name;
      node->value = string(name);
    }
    advance();
    return node;
  }
  if (skip("(")) {
    if (skip(")")) return make(Kind::Tuple);
    Node* value = parse_tuple();
    expect(")");
    return value;
  }
  if (skip("[")) return make(Kind::List, parse_items("]"));
  if (skip("{")) return parse_dict();
  return unexpected("an expression");
}

Node* Parser::parse_items(std::string_view end) {
  Listing items;
  while (!work_->failed() && !skip(end)) {
    if (items.first != nullptr) expect(",");
    if (skip(end)) break;
    items.add(parse_expression());
  }
  return const_cast<Node*>(items.first);
}

Node* Parser::parse_dict() {
  Listing items;
  while (!work_->failed() && !skip("}")) {
    if (items.first != nullptr) expect(",");
    if (skip("}")) break;
    items.add(parse_expression());
    expect(":");
    items.add(parse_expression());
  }
  return make(Kind::Dict, items.first);
}

void Parser::parse_postfixes(Listing* list, bool filters) {
  // Calls may follow filters and tests, attributes may not.
  for (bool filtered = false; !work_->failed();) {
    if (!filtered && skip(".")) {
      Node* node = make(Kind::Attribute);
      if (token_.kind == Token::Literal && token_.value.is(Type::Int)) {
        node->kind = Kind::Element;
        node->first = parse_primary();
      } else {
        node->value = expect_name();
      }
      list->add(node);
    } else if (!filtered && skip("[")) {
      list->add(parse_subscript());
    } else if (skip("(")) {
      list->add(make(Kind::Call, parse_arguments()));
    } else if (filters && skip("|")) {
      list->add(parse_filter());
      filtered = true;
    } else if (filters && skip("is")) {
      list->add(parse_test());
      filtered = true;
    } else {
      return;
    }
  }
}

// The content of brackets after a value: an index or a slice.
Node* Parser::parse_subscript() {
  const Node* places[3] = {};
  int place = 0;
  for (; !work_->failed() && !token_.is("]"); ++place) {
    if (place < 3 && !token_.is(":")) places[place] = parse_expression();
    if (!skip(":")) break;
    if (place == 2) unexpected("']'");
  }
  expect("]");
  if (place == 0 && places[0] == nullptr && !work_->failed()) return unexpected("an index");
  Node* node = make(place == 0 ? Kind::Element : Kind::Slice, places[0]);
  node->second = places[1];
  node->third = places[2];
  return node;
}

Node* Parser::parse_filter() {
  Node* node = make(Kind::Filter);
  node->value = expect_name();
  node->index = find_filter(node->value.uncharged());
  if (node->index == kUnknown && conditions_ == 0 && unknown_ == nullptr) unknown_ = node;
  if (skip("(")) node->first = parse_arguments();
  return node;
}

Node* Parser::parse_test() {
  Node* node = make(Kind::Test);
  node->flag = skip("not");
  node->value = expect_name();
  node->index = find_test(node->value.uncharged());
  if (node->index == kUnknown && conditions_ == 0 && unknown_ == nullptr) unknown_ = node;
  if (skip("(")) {
    node->first = parse_arguments();
    return node;
  }
  const bool begins_value =
      token_.kind == Token::Name || token_.kind == Token::Literal || token_.is("[") || token_.is("{");
  if (!begins_value || token_.is("else") || token_.is("or") || token_.is("and")) return node;
  if (token_.is("is")) return unexpected("'and'");
  Node* value = parse_primary();
  Listing list;
  parse_postfixes(&list, false);
  if (list.first != nullptr) {
    value = make(Kind::Postfix, value);
    value->second = list.first;
  }
  node->first = make(Kind::Argument, value);
  return node;
}

// Up to the closing bracket.
const Node* Parser::parse_arguments() {
  Listing arguments;
  while (!work_->failed() && !skip(")")) {
    if (arguments.first != nullptr) expect(",");
    if (skip(")")) break;
    if (token_.is("*") || token_.is("**")) {
      unexpected("an argument by itself");
      break;
    }
    Node* argument = make(Kind::Argument);
    if (token_.kind == Token::Name && following().is("=")) {
      argument->value = expect_name();
      expect("=");
    }
    argument->first = parse_expression();
    arguments.add(argument);
  }
  return arguments.first;
}

}  // namespace ferry::jinja
