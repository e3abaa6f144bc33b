// "{}".format(): fields with attributes, elements, conversions and format specifications, which may have fields.
#include <algorithm>

#include "sdk/text/template/functions.h"
#include "sdk/text/template/numbers.h"

namespace ferry::jinja {
namespace {

class Braces {
 public:
  Braces(Evaluator& run, const Arguments& arguments, bool escapes) : run_(run), a_(arguments), escapes_(escapes) {}

  // Appends the text with its fields filled in. `depth`: 0 for a text, 1 for a specification.
  void write(std::string_view text, int depth) {
    text = run_.read_characters(text);
    for (size_t at = 0; at < text.size() && run_.step();) {
      const size_t brace = std::min(text.find_first_of("{}", at), text.size());
      run_.append(text.substr(at, brace - at));
      at = brace + 1;
      if (brace == text.size()) break;
      if (at < text.size() && text[at] == text[brace] && depth == 0) {
        run_.append(text[at++]);
        continue;
      }
      const size_t end = end_of(text, at);
      if (text[brace] == '}' || end == text.npos) {
        run_.fail("a format has a brace by itself");
        return;
      }
      write_field(text.substr(at, end - at), depth);
      at = end + 1;
    }
  }

 private:
  // The brace that ends the field which begins at `at`; a field's specification may have fields.
  static size_t end_of(std::string_view text, size_t at) {
    int open = 1;
    for (; at < text.size(); ++at) {
      if (text[at] == '[') at = std::min(text.find(']', at), text.size() - 1);
      open += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      if (open == 0) return at;
    }
    return text.npos;
  }

  void write_field(std::string_view field, int depth) {
    if (depth > 1) {
      run_.fail("Max string recursion exceeded");
      return;
    }
    size_t name = 0;
    for (; name < field.size() && field[name] != '!' && field[name] != ':'; ++name)
      if (field[name] == '[') name = std::min(field.find(']', name), field.size() - 1);
    Value value = value_of(field.substr(0, name));
    field.remove_prefix(name);
    if (field.starts_with('!')) {
      const char kind = field.size() > 1 ? field[1] : '\0';
      if ((kind != 'r' && kind != 's' && kind != 'a') || (field.size() > 2 && field[2] != ':')) {
        run_.fail("a format has an unknown conversion, expected !r, !s or !a");
        return;
      }
      const size_t mark = run_.length();
      if (kind == 's')
        run_.write(value);
      else
        run_.write_repr(value);
      value = run_.take(mark);
      field.remove_prefix(2);
    }
    std::string_view spec = field.substr(std::min<size_t>(field.size(), 1));
    if (spec.find('{') != spec.npos) {
      const size_t mark = run_.length();
      write(spec, depth + 1);
      spec = run_.take(mark).uncharged();
    }
    if (run_.failed()) return;
    const size_t mark = run_.length();
    write_formatted(run_, value, spec);
    if (!escapes_ || value.safe || run_.failed()) return;
    const Value plain = run_.take(mark);
    run_.append(run_.escaped(plain).uncharged());
  }

  // "name", "0", "" (the next argument), each with ".attribute" and "[key]" behind it.
  Value value_of(std::string_view name) {
    const size_t first = std::min(name.find_first_of(".["), name.size());
    const std::string_view head = name.substr(0, first);
    int64_t index = 0;
    const Value* found = a_.find(run_, head);
    if (head.empty() || read_integer(head, 10, &index)) {
      if ((head.empty() ? named_by_number_ : next_ > 0)) {
        return run_.fail("cannot switch between manual field specification and automatic field numbering");
      }
      named_by_number_ |= !head.empty();
      index = head.empty() ? next_++ : index;
      if (index >= int64_t{a_.count})
        return run_.fail("Replacement index %lld out of range for positional args tuple",
                         static_cast<long long>(index));
      found = &a_[static_cast<size_t>(index)];
    }
    if (found == nullptr)
      return run_.fail("a format names '%.*s', which is none of its arguments",
                       static_cast<int>(std::min<size_t>(head.size(), 100)), head.data());
    Value value = *found;
    name.remove_prefix(first);
    while (!name.empty() && !run_.failed()) {
      const bool element = name[0] == '[';
      const size_t end = element ? name.find(']') : std::min(name.find_first_of(".[", 1), name.size());
      if (end == name.npos || end == 1) return run_.fail("a format has an empty attribute or an open bracket");
      const std::string_view part = name.substr(1, end - 1);
      if (!element)
        value = run_.attribute(value, part);
      else
        value = run_.element(value, read_integer(part, 10, &index) ? integer(index) : string(part));
      name.remove_prefix(end + (element ? 1 : 0));
      if (!name.empty() && name[0] != '.' && name[0] != '[')
        return run_.fail("Only '.' or '[' may follow ']' in format field specifier");
    }
    return value;
  }

  Evaluator& run_;
  const Arguments& a_;
  const bool escapes_;
  uint32_t next_ = 0;
  bool named_by_number_ = false;
};

}  // namespace

Value format_braces(Evaluator& run, const Value& pattern, const Arguments& a) {
  const size_t mark = run.length();
  Braces(run, a, pattern.safe).write(pattern.uncharged(), 0);
  const Value made = run.take(mark);
  return pattern.safe ? markup(made) : made;
}

}  // namespace ferry::jinja
