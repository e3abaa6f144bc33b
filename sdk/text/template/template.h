// Chat templates in the subset of Jinja that published templates use, rendered as by transformers (trim_blocks,
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
// Templates and their variables are untrusted: time and memory are limited (sdk/text/template/work.h), and exceeding a
// limit is an error. A template is immutable; many threads may use it at once.
#pragma once

#include <ctime>
#include <memory>
#include <string_view>
#include <vector>

#include "sdk/status.h"
#include "sdk/text/template/arena.h"
#include "sdk/text/template/value.h"

namespace ferry::jinja {

struct Node;

class Template {
 public:
  // UTF-8 of at most 256 KiB, which is copied. FERRY_INVALID_ARGUMENT: a syntax error or an unsupported feature; the
  // message has the line.
  static Status parse(std::string_view source, std::unique_ptr<Template>* out);

  // `context`: a dict of the template's variables. `now`: the time for strftime_now(); null disables it. `*text` is in
  // `arena`. FERRY_INVALID_ARGUMENT: the template called raise_exception(), or an error with its line;
  // FERRY_OUT_OF_MEMORY. `steps`: the steps that it took, unless null.
  Status render(const Value& context, const std::tm* now, Arena& arena, std::string_view* text,
                uint64_t* steps = nullptr) const;

  // The names that the template reads or sets, in the order of their first use, without the functions of Jinja and
  // transformers. They point into the template.
  std::vector<std::string_view> names() const;

 private:
  Template();

  Arena arena_;
  const Node* statements_ = nullptr;
};

// JSON (RFC 8259) in UTF-8, at most 64 MiB; integers have 64 bits. The result is in `arena`.
Status parse_json(std::string_view json, Arena& arena, Value* out);

}  // namespace ferry::jinja
