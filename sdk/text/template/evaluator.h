// Renders a template's tree. Work limits the computation, kMaxCallNesting its depth.
#pragma once

#include <ctime>

#include "sdk/text/template/tree.h"
#include "sdk/text/template/work.h"

namespace ferry::jinja {

class Evaluator;

struct Named {
  std::string_view name;
  Value value;
};

struct Arguments {
  const Value* values;
  uint32_t count;
  const Named* named;
  uint32_t named_count;

  const Value& operator[](size_t i) const { return values[i]; }
  const Value* find(Work& work, std::string_view name) const {
    for (uint32_t i = 0; i < named_count; ++i)
      if (work.same(named[i].name, name)) return &named[i].value;
    return nullptr;
  }
};

// A filter, a test, a method or a global function: an entry of a table.
struct Native {
  std::string_view name;
  // Names separated by spaces: arguments are bound to them, Absent if not given. Null: arguments are passed as given.
  const char* parameters;
  Value (*call)(Evaluator& run, const Value& subject, const Arguments& arguments);
};
inline constexpr size_t kMaxParameters = 6;

struct Scope;

struct Function {
  const Native* native;  // with its subject
  Value subject;
  const Node* macro;  // with the scope of its definition
  Scope* scope;
};

struct Scope {
  struct Binding {
    std::string_view name;
    Value value;
    Binding* next;
  };
  Scope* parent;
  Binding* bindings;
};

struct Loop {
  Evaluator* run;
  const Node* node;
  Scope* scope;        // the scope around the loop
  const Value* items;  // the elements of the loop
  uint32_t size, seen;
  Value* kept;  // elements so far that satisfy the loop's condition
  uint32_t count;
  uint32_t index;
  Value changed;
};

class Evaluator : public Work {
 public:
  // All must outlive the rendering. `now`: null disables strftime_now().
  Evaluator(Arena& arena, const Value& context, const std::tm* now) : Work(arena), context_(context), now_(now) {}

  // Renders the statements.
  void render(const Node* statements);

  // As in Jinja: attributes fall back to keys, and keys to attributes; Undefined if there is neither.
  Value attribute(const Value& value, std::string_view name);
  Value element(const Value& value, const Value& key);
  // Follows the dotted parts of an attribute's name. If one is missing: `otherwise`, unless null or None.
  Value path(const Value& value, const Value& attribute, const Value* otherwise = nullptr);
  // The elements of any iterable as a list.
  Value elements(const Value& value);
  Value call(const Value& function, const Arguments& arguments);
  Value call(const Native& native, const char* what, const Value& subject, const Arguments& arguments);
  Value apply(Operation operation, const Value& a, const Value& b);
  bool contains(const Value& container, const Value& item);
  // "'x' is undefined", ...
  Value fail_undefined(const Value& undefined);
  Value undefined(const Value& owner, std::string_view name) const {
    return {.owner = owner.type, .size = static_cast<uint32_t>(name.size()), .text = name.data()};
  }

  // write.cc: as str(), repr() and json.dumps(). `text()` returns strings unchanged.
  void write(const Value& value);
  void write_repr(const Value& value, int depth = 0);
  Value text(const Value& value);
  // Markup, with & < > " ' replaced unless the value is Markup.
  Value escaped(const Value& value);

  Value new_dict();
  const std::tm* now() const { return now_; }

 private:
  class Deeper;
  enum class Flow : uint8_t { On, Break, Continue };

  // expressions.cc
  Value evaluate(const Node* node);
  Value evaluate_name(std::string_view name);
  Value evaluate_list(const Node* node, Type type);
  Value evaluate_dict(const Node* node);
  Value evaluate_logic(const Node* node);
  Value evaluate_comparison(const Node* node);
  Value evaluate_postfix(const Node* node, Value value);
  Value evaluate_slice(const Node* node, const Value& value);
  bool evaluate_arguments(const Node* first, Arguments* out);
  Value modulo(const Value& a, const Value& b);
  Value power(const Value& a, const Value& b);
  Value loop_attribute(Loop& loop, std::string_view name);
  bool fetch(Loop& loop, uint32_t index);
  const Value* find_method(const Value& value, std::string_view name, Value* out);
  Value call_macro(const Function& function, const Arguments& arguments);
  Value call_markup(const Function& function, const Arguments& arguments);

  // statements.cc
  void execute(const Node* first);
  void execute_if(const Node* node);
  void execute_for(const Node* node);
  void execute_with(const Node* node);
  void assign(const Node* target, const Value& value);
  void bind(std::string_view name, const Value& value);
  Value capture(const Node* statements);
  Scope* new_scope(Scope* parent);

  const Value& context_;
  const std::tm* now_;
  Scope* scope_ = nullptr;
  Flow flow_ = Flow::On;
  int depth_ = 0;
};

class Evaluator::Deeper {
 public:
  explicit Deeper(Evaluator& run) : run_(run) {
    if (++run_.depth_ > kMaxCallNesting) run_.fail("what is computed is nested more than %d deep", kMaxCallNesting);
  }
  ~Deeper() { --run_.depth_; }

 private:
  Evaluator& run_;
};

// format.cc: the % operator of strings; what Markup formats is escaped.
Value format(Evaluator& run, const Value& pattern, const Arguments& arguments);

}  // namespace ferry::jinja
