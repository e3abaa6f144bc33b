// Chat templates: the Jinja that published ones are written in, rendered as transformers renders it (trim_blocks,
// lstrip_blocks, loopcontrols, its own tojson, raise_exception, strftime_now, {% generation %}).
//
//     std::unique_ptr<jinja::Template> made;
//     FERRY_TRY(jinja::Template::parse("{{ greeting }}, {{ name }}!", &made));
//     jinja::Arena values(jinja::kMaxValueBytes);
//     jinja::Value context;
//     FERRY_TRY(jinja::parse_json(R"({"greeting": "Hello", "name": "world"})", values, &context));
//     std::string_view text;
//     FERRY_TRY(made->render(context, nullptr, values, &text));
//
// A template is not trusted, nor is what it is rendered with: both take bounded time and memory (the bounds are in
// sdk/text/template/work.h), and what goes beyond them is an error. A template never changes: any number of threads may
// use it.
#pragma once

#include <ctime>
#include <memory>
#include <string_view>

#include "sdk/status.h"
#include "sdk/text/template/arena.h"
#include "sdk/text/template/value.h"

namespace ferry::jinja {

struct Node;

class Template {
 public:
  // UTF-8 of at most 256 KiB, which is copied. FERRY_INVALID_ARGUMENT says in which line it is no template, or uses
  // what is not known here.
  static Status parse(std::string_view source, std::unique_ptr<Template>* out);

  // `context`: a dict of the template's variables. `now`: what strftime_now() tells; null: there is none. `*text` lies
  // in `arena`. FERRY_INVALID_ARGUMENT: what the template raises with raise_exception(), or what went wrong in which
  // line; FERRY_OUT_OF_MEMORY.
  Status render(const Value& context, const std::tm* now, Arena& arena, std::string_view* text) const;

 private:
  Template();

  Arena arena_;
  const Node* statements_ = nullptr;
};

// JSON as RFC 8259 has it, in UTF-8, of at most 64 MiB; integers of 64 bits. What it gives lies in `arena`.
Status parse_json(std::string_view json, Arena& arena, Value* out);

}  // namespace ferry::jinja
