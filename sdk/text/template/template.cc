#include "sdk/text/template/template.h"

#include <new>
#include <unordered_set>

#include "sdk/text/template/characters.h"
#include "sdk/text/template/evaluator.h"
#include "sdk/text/template/functions.h"
#include "sdk/text/template/parser.h"

namespace ferry::jinja {
namespace {

constexpr size_t kMaxTreeBytes = size_t{1} << 26;

// As Jinja reads a file: newlines become "\n", and a final one is removed.
std::string_view normalized(Work& work, std::string_view source) {
  auto* text = work.make<char>(source.size() + 1);
  if (text == nullptr) return {};
  size_t size = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    text[size++] = source[i] == '\r' ? '\n' : source[i];
  }
  if (size > 0 && text[size - 1] == '\n') --size;
  return {text, size};
}

void add_names(const Node* first, std::unordered_set<std::string_view>* known, std::vector<std::string_view>* names) {
  for (const Node* node = first; node != nullptr; node = node->next) {
    if (node->kind == Kind::Name && find_function(node->value.uncharged()) == nullptr &&
        known->insert(node->value.uncharged()).second)
      names->push_back(node->value.uncharged());
    for (const Node* child : {node->first, node->second, node->third, node->statements, node->otherwise})
      add_names(child, known, names);
  }
}

}  // namespace

Template::Template() : arena_(kMaxTreeBytes) {}

Status Template::parse(std::string_view source, std::unique_ptr<Template>* out) {
  if (source.size() > kMaxSourceBytes)
    return error(FERRY_INVALID_ARGUMENT, "the template has %zu bytes, more than %zu", source.size(), kMaxSourceBytes);
  if (!well_formed(source)) return error(FERRY_INVALID_ARGUMENT, "the template is not UTF-8");
  std::unique_ptr<Template> made(new (std::nothrow) Template);
  if (!made) return Status::out_of_memory();
  Work work(made->arena_);
  made->statements_ = Parser(work, normalized(work, source)).parse();
  if (work.failed()) return work.status();
  *out = std::move(made);
  return {};
}

Status Template::render(const Value& context, const std::tm* now, Arena& arena, std::string_view* text,
                        uint64_t* steps) const {
  Evaluator run(arena, context, now);
  run.render(statements_);
  const Value written = run.take(0);
  if (steps != nullptr) *steps = run.steps();
  if (!run.failed()) *text = written.uncharged();
  return run.status();
}

std::vector<std::string_view> Template::names() const {
  std::vector<std::string_view> names;
  std::unordered_set<std::string_view> known;
  add_names(statements_, &known, &names);
  return names;
}

}  // namespace ferry::jinja
