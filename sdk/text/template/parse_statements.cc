#include "sdk/text/template/filters.h"
#include "sdk/text/template/parser.h"
#include "sdk/text/template/tests.h"

namespace ferry::jinja {

const Node* Parser::parse() {
  advance();
  const Node* first = parse_statements({});
  if (!work_->failed() && token_.kind != Token::End) {
    work_->line = lexer_.line();
    work_->fail("'%.*s' ends nothing that is open", static_cast<int>(std::min<size_t>(token_.text.size(), 40)),
                token_.text.data());
  }
  if (!work_->failed() && unknown_ != nullptr)
    (unknown_->kind == Kind::Filter ? fail_unknown_filter : fail_unknown_test)(*work_, unknown_->line,
                                                                               unknown_->value.uncharged());
  return first;
}

// Parses up to a tag that begins with one of these words, which becomes the current token; without words, to the end.
Node* Parser::parse_statements(std::string_view end, std::string_view other_end, std::string_view third_end) {
  const Deeper deeper(*this);
  const uint32_t begin = lexer_.line();
  Listing list;
  while (!work_->failed() && token_.kind != Token::End) {
    if (token_.kind == Token::Text) {
      list.add(make(Kind::Text))->value = string(token_.text);
      advance();
    } else if (token_.kind == Token::OutputBegin) {
      advance();
      list.add(make(Kind::Output, parse_tuple()));
      if (token_.kind != Token::OutputEnd) unexpected("'}}'");
      advance();
    } else {
      advance();  // skips the beginning of the tag
      const bool ends = token_.kind == Token::Name && (token_.text == end || token_.text == other_end ||
                                                       token_.text == third_end || token_.text.substr(0, 3) == "end");
      if (ends || token_.is("elif") || token_.is("else")) {
        const bool expected = token_.text == end || token_.text == other_end || token_.text == third_end;
        if (expected || end.empty()) return const_cast<Node*>(list.first);
        unexpected("the end of what is open");
      } else if (Node* statement = parse_statement()) {
        list.add(statement);
      }
    }
  }
  if (!end.empty() && !work_->failed()) {
    work_->line = begin;
    work_->fail("what begins here has no {%% %.*s %%}", static_cast<int>(end.size()), end.data());
  }
  return const_cast<Node*>(list.first);
}

// From after "{%" to after "%}".
Node* Parser::parse_statement() {
  if (skip("if")) return conditionally([&] { return parse_if(); });
  if (skip("for")) return conditionally([&] { return parse_for(); });
  if (skip("set")) return parse_set();
  if (skip("macro")) {
    Node* macro = make(Kind::Macro);
    macro->value = expect_name();
    expect("(");
    return conditionally([&] { return parse_macro(parse_parameters(macro)); });
  }
  if (skip("call")) return conditionally([&] { return parse_call(); });
  if (skip("filter")) return parse_filter_block();
  if (skip("with")) return parse_with();
  if (skip("generation")) {  // transformers' {% generation %}: marks training targets
    Node* scope = make(Kind::With);
    end_block();
    scope->second = parse_statements("endgeneration");
    advance();
    end_block();
    return scope;
  }
  if (token_.is("break") || token_.is("continue")) {
    Node* node = make(token_.is("break") ? Kind::Break : Kind::Continue);
    if (loops_ == 0) return unexpected("a tag that may stand outside of a loop");
    advance();
    end_block();
    return node;
  }
  return unexpected("one of if, for, set, macro, call, filter, with, generation, break, continue, raw");
}

Node* Parser::parse_if() {
  Node* node = make(Kind::If);
  Listing branches;
  for (bool conditional = true; !work_->failed();) {
    Node* branch = branches.add(make(Kind::Branch, conditional ? parse_tuple(false) : nullptr));
    end_block();
    branch->second = conditional ? parse_statements("endif", "else", "elif") : parse_statements("endif");
    if (skip("endif")) break;
    conditional = skip("elif");
    if (!conditional) expect("else");
  }
  end_block();
  node->first = branches.first;
  return node;
}

Node* Parser::parse_for() {
  Node* node = make(Kind::For);
  node->first = parse_target(false);
  expect("in");
  node->second = parse_tuple(false);
  if (skip("if")) node->third = parse_expression();
  if (token_.is("recursive")) return unexpected("a loop that is not recursive");
  end_block();
  ++loops_;
  node->statements = parse_statements("endfor", "else");
  --loops_;
  if (skip("else")) {
    end_block();
    node->otherwise = parse_statements("endfor");
  }
  expect("endfor");
  end_block();
  return node;
}

// A name, several names, or with `fields` also an attribute of a namespace.
Node* Parser::parse_target(bool fields) {
  const Deeper deeper(*this);
  Listing targets;
  bool tuple = false;
  do {
    if (targets.first != nullptr && (token_.is("in") || token_.is("=") || token_.is(")"))) break;
    if (skip("(")) {
      targets.add(parse_target(fields));
      expect(")");
    } else {
      Node* target = targets.add(make(Kind::Name));
      target->value = expect_name();
      if (fields && skip(".")) {
        target->kind = Kind::Field;
        Node* field = make(Kind::Literal);
        field->value = expect_name();
        target->first = field;
      }
    }
    tuple = tuple || token_.is(",");
  } while (!work_->failed() && skip(","));
  return tuple ? make(Kind::Tuple, targets.first) : targets.last;
}

Node* Parser::parse_set() {
  Node* node = make(Kind::Set);
  node->first = parse_target(true);
  if (skip("=")) {
    node->second = parse_tuple();
    end_block();
    return node;
  }
  node->kind = Kind::SetBlock;
  if (token_.is("|")) {
    Listing filters;
    parse_postfixes(&filters, true);
    Node* postfix = make(Kind::Postfix);
    postfix->second = filters.first;
    node->third = postfix;
  }
  end_block();
  node->second = parse_statements("endset");
  advance();
  end_block();
  return node;
}

// From after the opening bracket.
Node* Parser::parse_parameters(Node* macro) {
  Listing parameters;
  while (!work_->failed() && !skip(")")) {
    if (parameters.first != nullptr) expect(",");
    if (skip(")")) break;
    const bool after_default = parameters.last != nullptr && parameters.last->first != nullptr;
    Node* parameter = parameters.add(make(Kind::Parameter));
    parameter->value = expect_name();
    if (skip("="))
      parameter->first = parse_expression();
    else if (after_default)
      unexpected("a default, which the parameter before has");
  }
  macro->first = parameters.first;
  return macro;
}

// From the end of its opening tag; a macro, or the body of a call block.
Node* Parser::parse_macro(Node* macro) {
  end_block();
  const int loops = std::exchange(loops_, 0);
  macro->second = parse_statements(macro->kind == Kind::Macro && macro->flag ? "endcall" : "endmacro");
  loops_ = loops;
  advance();
  end_block();
  return macro;
}

// The block is passed as the call's argument `caller`.
Node* Parser::parse_call() {
  Node* caller = make(Kind::Macro);
  caller->value = string("caller");
  caller->flag = true;
  if (skip("(")) parse_parameters(caller);
  Node* postfix = parse_unary(false);
  Node* last = nullptr;
  if (postfix->kind == Kind::Postfix)
    for (const Node* step = postfix->second; step != nullptr; step = step->next) last = const_cast<Node*>(step);
  if (last == nullptr || last->kind != Kind::Call) return unexpected("the call of a macro");
  parse_macro(caller);
  Node* argument = make(Kind::Argument, make(Kind::Closure, caller));
  argument->value = caller->value;
  argument->next = last->first;
  last->first = argument;
  return make(Kind::Evaluate, postfix);
}

Node* Parser::parse_filter_block() {
  Node* node = make(Kind::FilterBlock);
  Listing filters;
  filters.add(parse_filter());
  parse_postfixes(&filters, true);
  Node* postfix = make(Kind::Postfix);
  postfix->second = filters.first;
  node->third = postfix;
  end_block();
  node->second = parse_statements("endfilter");
  advance();
  end_block();
  return node;
}

Node* Parser::parse_with() {
  Node* node = make(Kind::With);
  Listing sets;
  while (!work_->failed() && token_.kind != Token::BlockEnd) {
    if (sets.first != nullptr) expect(",");
    Node* set = sets.add(make(Kind::Set));
    set->first = parse_target(false);
    expect("=");
    set->second = parse_expression();
  }
  node->first = sets.first;
  end_block();
  node->second = parse_statements("endwith");
  advance();
  end_block();
  return node;
}

}  // namespace ferry::jinja
