#include "sdk/text/template/evaluator.h"

namespace ferry::jinja {

void Evaluator::render(const Node* statements) {
  scope_ = new_scope(nullptr);
  execute(statements);
}

Scope* Evaluator::new_scope(Scope* parent) {
  auto* scope = make<Scope>();
  if (scope == nullptr) return parent;
  scope->parent = parent;
  return scope;
}

void Evaluator::bind(std::string_view name, const Value& value) {
  if (failed()) return;
  for (Scope::Binding* b = scope_->bindings; b != nullptr && !failed(); b = b->next) {
    if (!same(b->name, name)) continue;
    b->value = value;
    return;
  }
  auto* binding = make<Scope::Binding>();
  if (binding == nullptr) return;
  *binding = {name, value, scope_->bindings};
  scope_->bindings = binding;
}

void Evaluator::assign(const Node* target, const Value& value) {
  if (failed()) return;
  if (target->kind == Kind::Name) {
    bind(target->value.uncharged(), value);
  } else if (target->kind == Kind::Field) {
    const Value space = evaluate_name(target->value.uncharged());
    if (space.is(Type::Namespace))
      space.dict->put(*this, target->first->value, value);
    else
      fail("cannot assign attribute on non-namespace object");
  } else {
    const Value values = elements(value);
    uint32_t i = 0;
    for (const Node* part = target->first; part != nullptr && step(); part = part->next, ++i) {
      if (i < values.size) assign(part, values.items[i]);
    }
    if (i > values.size) fail("not enough values to unpack (expected %u, got %u)", i, values.size);
    if (i < values.size) fail("too many values to unpack (expected %u)", i);
  }
}

// Renders the statements to a string.
Value Evaluator::capture(const Node* statements) {
  Scope* outer = scope_;
  scope_ = new_scope(outer);
  const size_t mark = length();
  execute(statements);
  scope_ = outer;
  return take(mark);
}

void Evaluator::execute(const Node* first) {
  const Deeper deeper(*this);
  for (const Node* node = first; node != nullptr && flow_ == Flow::On && step(); node = node->next) {
    line = node->line;
    switch (node->kind) {
      case Kind::Text: append(node->value.uncharged()); break;
      case Kind::Output:
      case Kind::Evaluate: write(evaluate(node->first)); break;
      case Kind::If: execute_if(node); break;
      case Kind::For: execute_for(node); break;
      case Kind::Set: assign(node->first, evaluate(node->second)); break;
      case Kind::SetBlock: {
        Value value = capture(node->second);
        if (node->third != nullptr) value = evaluate_postfix(node->third, value);
        assign(node->first, value);
        break;
      }
      case Kind::Macro: bind(node->value.uncharged(), evaluate(node)); break;
      case Kind::FilterBlock: write(evaluate_postfix(node->third, capture(node->second))); break;
      case Kind::With: execute_with(node); break;
      case Kind::Break: flow_ = Flow::Break; break;
      case Kind::Continue: flow_ = Flow::Continue; break;
      default: break;
    }
  }
}

void Evaluator::execute_if(const Node* node) {
  for (const Node* branch = node->first; branch != nullptr; branch = branch->next)
    if (branch->first == nullptr || truth(evaluate(branch->first))) return execute(branch->second);
}

void Evaluator::execute_with(const Node* node) {
  Scope* outer = scope_;
  Scope* inner = new_scope(outer);
  for (const Node* set = node->first; set != nullptr; set = set->next) {
    const Value value = evaluate(set->second);
    scope_ = inner;
    assign(set->first, value);
    scope_ = outer;
  }
  scope_ = inner;
  execute(node->second);
  scope_ = outer;
}

void Evaluator::execute_for(const Node* node) {
  const Value items = elements(evaluate(node->second));
  auto* loop = make<Loop>();
  if (loop == nullptr) return;
  Scope* outer = scope_;
  *loop = {.run = this, .node = node, .scope = outer, .items = items.items, .size = items.size};
  loop->kept = const_cast<Value*>(items.items);
  if (node->third == nullptr) {
    loop->count = loop->seen = items.size;
  } else if (loop->kept = make<Value>(items.size + 1); loop->kept == nullptr) {
    return;
  }
  Scope* around = scope_ = new_scope(outer);
  bind("loop", {.type = Type::Loop, .loop = loop});
  bool completed = false;  // as compiled by Jinja, `else` runs if no iteration completed
  for (; step() && fetch(*loop, loop->index); ++loop->index) {
    scope_ = new_scope(around);
    assign(node->first, loop->kept[loop->index]);
    execute(node->statements);
    const Flow flow = std::exchange(flow_, Flow::On);
    if (flow == Flow::Break) break;
    completed = completed || flow == Flow::On;
  }
  scope_ = new_scope(outer);
  if (!completed) execute(node->otherwise);
  scope_ = outer;
}

// Whether there is an element of that index that satisfies the loop's condition. Examines only as many as necessary.
bool Evaluator::fetch(Loop& loop, uint32_t index) {
  while (loop.count <= index && loop.seen < loop.size && step()) {
    const Value item = loop.items[loop.seen++];
    Scope* outer = scope_;
    scope_ = new_scope(loop.scope);
    assign(loop.node->first, item);
    if (truth(evaluate(loop.node->third)) && !failed()) loop.kept[loop.count++] = item;
    scope_ = outer;
  }
  return loop.count > index && !failed();
}

}  // namespace ferry::jinja
