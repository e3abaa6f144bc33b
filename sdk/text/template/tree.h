// What a template's text becomes: a tree of nodes in an arena, lists linked by `next`.
#pragma once

#include "sdk/text/template/value.h"

namespace ferry::jinja {

enum class Kind : uint8_t {
  // Expressions
  Literal,      // value
  Name,         // value: the name
  List,         // first: its elements
  Tuple,        // the same
  Dict,         // first: keys and values in turn
  Chain,        // first: an expression; second: Steps with an operator and its other side, left to right
  Logic,        // the same, of `and` or `or`
  Comparison,   // the same, of comparisons, all of which must hold
  Not,          // first
  Negative,     // first
  Positive,     // first
  Conditional,  // first: the condition; second: if it holds; third: else, or null
  Postfix,      // first: an expression; second: what is done with it, in turn:
  Attribute,    //   value: the name
  Element,      //   first: the index
  Slice,        //   first, second, third: from, to, step, or null
  Call,         //   first: arguments
  Filter,       //   value: the name; index: of its table; first: arguments
  Test,         //   the same; flag: not
  Argument,     // first; value: the name, where it has one
  Step,         // operation; first
  Closure,      // first: a Macro, as the value of an expression
  // Statements
  Text,         // value
  Output,       // first
  If,           // first: Branches
  Branch,       // first: the condition, or null; second: statements
  For,          // first: the target; second: what is gone through; third: the condition, or null; statements, otherwise
  Set,          // first: the target; second
  SetBlock,     // first: the target; second: statements; third: a Postfix of filters without `first`, or null
  Field,        // a target: value: a namespace's name; first: a Literal, the attribute's name
  Macro,        // value: the name; first: Parameters; second: statements
  Parameter,    // value: the name; first: what it is where the call says nothing, or null
  Evaluate,     // first: a call, whose text is written
  FilterBlock,  // second: statements; third: a Postfix without `first`
  With,         // first: Sets; second: statements
  Break,
  Continue,
};

enum class Operation : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  Join,
  And,
  Or,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn,
};

struct Node {
  Kind kind;
  Operation operation;
  bool flag;
  uint8_t index;
  uint32_t line;
  Value value;
  const Node *first, *second, *third;
  const Node* statements;  // For
  const Node* otherwise;   // For
  const Node* next;
};

}  // namespace ferry::jinja
