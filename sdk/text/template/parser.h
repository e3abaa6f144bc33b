// A parser of Jinja's grammar, without features that chat templates do not use: inheritance, includes, recursive loops,
// calls with * and **.
#pragma once

#include "sdk/text/template/lexer.h"
#include "sdk/text/template/tree.h"

namespace ferry::jinja {

class Parser {
 public:
  Parser(Work& work, std::string_view source) : work_(&work), lexer_(work, source) {}

  // The template's statements. Errors are reported through Work.
  const Node* parse();

 private:
  // Builds a linked list of nodes.
  struct Listing {
    const Node* first = nullptr;
    Node* last = nullptr;

    Node* add(Node* node) {
      (last != nullptr ? last->next : first) = node;
      return last = node;
    }
  };
  class Deeper;  // increments the nesting depth during its lifetime

  // Never null: when memory runs out, one node is reused.
  Node* make(Kind kind);
  Node* make(Kind kind, const Node* first) {
    Node* node = make(kind);
    node->first = first;
    return node;
  }
  Node* unexpected(const char* expected);

  void advance() { token_ = lexer_.next(); }
  bool skip(std::string_view word);
  void expect(std::string_view word);
  Value expect_name();
  Token following() const { return Lexer(lexer_).next(); }

  // parse_statements.cc
  Node* parse_statements(std::string_view end, std::string_view other_end = {}, std::string_view third_end = {});
  Node* parse_statement();
  Node* parse_if();
  Node* parse_for();
  Node* parse_set();
  Node* parse_macro(Node* macro);
  Node* parse_call();
  Node* parse_filter_block();
  Node* parse_with();
  Node* parse_target(bool several);
  Node* parse_parameters(Node* macro);
  void end_block() {
    if (token_.kind != Token::BlockEnd) unexpected("the tag's end");
    advance();
  }

  // Parses what a rendering may skip.
  template <typename Parse>
  auto conditionally(Parse parse) {
    ++conditions_;
    const auto parsed = parse();
    --conditions_;
    return parsed;
  }

  // parse_expressions.cc
  Node* parse_tuple(bool conditional = true);
  Node* parse_expression();
  Node* parse_or();
  Node* parse_and();
  Node* parse_not();
  Node* parse_comparison();
  Node* parse_sum();
  Node* parse_join();
  Node* parse_product();
  Node* parse_power();
  Node* parse_unary(bool filters);
  Node* parse_primary();
  Node* parse_dict();
  Node* parse_items(std::string_view end);
  void parse_postfixes(Listing* list, bool filters);
  Node* parse_subscript();
  Node* parse_filter();
  Node* parse_test();
  const Node* parse_arguments();
  Node* chained(Kind kind, Node* first, Listing* steps, Operation operation, Node* other);

  Work* work_;
  Lexer lexer_;
  Token token_;
  // The first unknown filter or test that every rendering reaches; others fail where they are reached, as in Jinja2.
  const Node* unknown_ = nullptr;
  int conditions_ = 0;  // tags and operators around the current position that may skip it
  int depth_ = 0;
  int loops_ = 0;  // loops around the current position, within one macro
  Node spare_{};
};

class Parser::Deeper {
 public:
  explicit Deeper(Parser& parser) : parser_(parser) {
    if (++parser_.depth_ <= kMaxGrammarNesting) return;
    parser_.work_->line = parser_.lexer_.line();
    parser_.work_->fail("the template is nested more than %d deep", kMaxGrammarNesting);
  }
  ~Deeper() { --parser_.depth_; }

 private:
  Parser& parser_;
};

}  // namespace ferry::jinja
