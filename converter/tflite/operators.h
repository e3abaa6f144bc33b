// The table of builtin operators: which are imported, by which function, and why the others are not.
#pragma once

#include <span>
#include <string>

#include "converter/tflite/op.h"

namespace ferry::tflite {

using OpFunction = void (*)(Op&);

struct OpRow {
  schema::BuiltinOperator op;
  OpFunction function;            // null: the operator is refused
  const char* refused = nullptr;  // why; null: Ferry has no operator for it yet
};

// Every builtin operator of the schema, by number.
std::span<const OpRow> operators();

// Those of later versions of the schema, by number.
struct LaterRow {
  int op;
  const char* name;
  OpFunction function = nullptr;
};
std::span<const LaterRow> later_operators();

// The custom operators that are imported, by name.
struct CustomRow {
  const char* name;
  OpFunction function;
};
std::span<const CustomRow> custom_operators();

// Null if the operator is not imported; `why` then says why.
OpFunction find_function(const File& file, const schema::Operator& op, std::string* why);

}  // namespace ferry::tflite
