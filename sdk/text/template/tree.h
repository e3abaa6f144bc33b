// The syntax tree of a template: nodes in an arena, lists linked by `next`.
#pragma once

#include "sdk/text/template/value.h"

namespace ferry::jinja {

enum class Kind : uint8_t {
  // Expressions
  Literal,      // value
  Name,         // value: the name
  List,         // first: its elements
  Tuple,        // the same
  Dict,         // first: alternating keys and values
  Chain,        // first: an expression; second: Steps with an operator and the right operand
  Logic,        // the same for `and` or `or`
  Comparison,   // the same for comparisons, all of which must hold
  Not,          // first
  Negative,     // first
  Positive,     // first
  Conditional,  // first: the condition; second: the result if true; third: if false, or null
  Postfix,      // first: an expression; second: a list of these, applied in order:
  Attribute,    //   value: the name
  Element,      //   first: the index
  Slice,        //   first, second, third: start, stop, step, or null
  Call,         //   first: arguments
  Filter,       //   value: the name; index: in its table; first: arguments
  Test,         //   the same; flag: negated
  Argument,     // first; value: the name, if it has one
  Step,         // operation; first
  Closure,      // first: a Macro, used as a value
  // Statements
  Text,         // value
  Output,       // first
  If,           // first: Branches
  Branch,       // first: the condition, or null; second: statements
  For,          // first: the target; second: the iterable; third: the condition, or null; statements, otherwise
  Set,          // first: the target; second
  SetBlock,     // first: the target; second: statements; third: a Postfix of filters without `first`, or null
  Field,        // a target: value: name of a namespace; first: a Literal, the attribute's name
  Macro,        // value: the name; first: Parameters; second: statements
  Parameter,    // value: the name; first: the default, or null
  Evaluate,     // first: a call, whose result is written
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

// Node::index of a filter or a test whose name is in no table: using it is an error.
inline constexpr uint8_t kUnknown = 255;

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
