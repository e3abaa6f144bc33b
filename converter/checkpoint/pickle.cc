#include "converter/checkpoint/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

#include "converter/checkpoint/json.h"
#include "converter/error.h"

namespace ferry {
namespace {

using Kind = PickleValue::Kind;

// Maximum number of values, far above any checkpoint's: it bounds the memory that a small hostile file can allocate.
constexpr size_t kMaxValues = 20'000'000;

// The opcodes are described in https://github.com/python/cpython/blob/main/Lib/pickletools.py.
class PickleReader {
 public:
  PickleReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  Pickle read() {
    while (step(static_cast<uint8_t>(take(1)[0]))) {
    }
    if (stack_.size() != 1 || !marks_.empty()) damaged("does not leave exactly one value");
    pickle_.root = stack_.front();
    pickle_.size = at_;
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void damaged(const char* what) const {
    fail("%s: is damaged: its pickle %s at byte %zu", where_.c_str(), what, at_);
  }

  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - at_) damaged("ends too early");
    const std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }

  template <typename T>
  T number() {
    static_assert(std::endian::native == std::endian::little, "pickles are little-endian");
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }

  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos) damaged("ends too early");
    const std::string_view text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

  PickleValue& push(PickleValue value) {
    built_ += 1 + value.items.size();
    if (built_ > kMaxValues)
      fail("%s: its pickle builds more than %zu values: it is not a checkpoint", where_.c_str(), kMaxValues);
    stack_.push_back(&pickle_.values.emplace_back(std::move(value)));
    return *stack_.back();
  }

  void push_integer(int64_t value) { push({.kind = Kind::Integer, .integer = value}); }
  void push_text(Kind kind, uint64_t size) { push({.kind = kind, .text = take(size)}); }

  void push_long(uint64_t size) {
    const std::string_view raw = take(size);
    if (size > 8) {
      push({.kind = Kind::Bytes, .text = raw});
      return;
    }
    int64_t value = size > 0 && (raw.back() & 0x80) != 0 ? -1 : 0;  // char may be unsigned
    std::memcpy(&value, raw.data(), size);
    push_integer(value);
  }

  // Does not reach below the last mark: values there belong to the enclosing collection.
  PickleValue& top() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) damaged("pops more values than it has pushed");
    return *stack_.back();
  }

  PickleValue& pop() {
    PickleValue& value = top();
    stack_.pop_back();
    return value;
  }

  std::vector<const PickleValue*> pop_marked() {
    if (marks_.empty()) damaged("closes a collection that is not open");
    const auto first = stack_.begin() + static_cast<ptrdiff_t>(marks_.back());
    const std::vector<const PickleValue*> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }

  void push_tuple(size_t size) {
    std::vector<const PickleValue*> items(size);
    for (size_t i = size; i-- > 0;) items[i] = &pop();
    push({.kind = Kind::Tuple, .items = std::move(items)});
  }

  // An object that items are set on is a list or a dictionary of its own class.
  void extend(Kind kind, const std::vector<const PickleValue*>& items) {
    PickleValue& target = top();
    if (target.kind == Kind::Call && target.state == nullptr) {
      target.kind = kind;
      target.items.clear();
    }
    if (target.kind != kind || (kind == Kind::Dict && items.size() % 2 != 0))
      damaged("adds items to a value of the wrong type");
    built_ += items.size();
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void push_global(std::string_view module, std::string_view name) {
    if (module == "__builtin__") module = "builtins";  // Python 2's name, kept by protocol 2
    pickle_.names.push_back(std::string(module) + "." + std::string(name));
    push({.kind = Kind::Global, .text = pickle_.names.back()});
  }

  // A call of a class or function, which is recorded. The result of a call may itself be called (a partial function).
  void call(const PickleValue& callee, const std::vector<const PickleValue*>& arguments) {
    if (callee.kind != Kind::Global && callee.kind != Kind::Call) damaged("calls a value that is not callable");
    const std::string_view name = callee.text;
    if (name == "collections.OrderedDict" || name == "collections.Counter") return push_dict(arguments);
    if (name == "collections.defaultdict") return push_dict({});  // its argument makes absent values
    if (name != "builtins.set" && name != "builtins.frozenset") {
      push({.kind = Kind::Call, .text = name, .items = arguments});
      return;
    }
    PickleValue set{.kind = Kind::Set};
    if (!arguments.empty()) {
      if (arguments.front()->kind != Kind::List) damaged("fills a container with a value that is not a list");
      set.items = arguments.front()->items;
    }
    push(std::move(set));
  }

  // From a list of pairs, as Python 2 wrote them, or a dictionary.
  void push_dict(const std::vector<const PickleValue*>& arguments) {
    PickleValue dict{.kind = Kind::Dict};
    if (!arguments.empty() && arguments.front()->kind == Kind::Dict) {
      dict.items = arguments.front()->items;
    } else if (!arguments.empty()) {
      if (arguments.front()->kind != Kind::List) damaged("fills a container with a value that is not a list");
      for (const PickleValue* item : arguments.front()->items) {
        if (item->items.size() != 2) damaged("fills a dictionary with values that are not pairs");
        dict.items.insert(dict.items.end(), item->items.begin(), item->items.end());
      }
    }
    push(std::move(dict));
  }

  void reduce() {
    const PickleValue& arguments = pop();
    const PickleValue& callee = pop();
    if (arguments.kind != Kind::Tuple) damaged("calls a value that is not callable");
    call(callee, arguments.items);
  }

  void remember(uint64_t index) { memo_[index] = &top(); }

  void recall(uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) damaged("reads a memo entry that is not set");
    stack_.push_back(found->second);
  }

  // Returns false at the end of the pickle.
  bool step(uint8_t opcode);
  bool step_collection(uint8_t opcode);
  void step_object(uint8_t opcode);

  std::string_view bytes_;
  const std::string& where_;
  size_t at_ = 0;
  size_t built_ = 0;  // number of values and members
  Pickle pickle_;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleValue*> memo_;
};

// Scalars, texts and STOP.
bool PickleReader::step(uint8_t opcode) {
  switch (opcode) {
    case '.': return false;
    case 0x80:  // PROTO
      if (const int protocol = number<uint8_t>(); protocol < 2 || protocol > 5)
        fail("%s: is a pickle of protocol %d; 2 to 5 are read", where_.c_str(), protocol);
      break;
    case 0x95: number<uint64_t>(); break;  // FRAME: a hint for buffering, ignored
    case 'N': push({}); break;
    case 0x88: push({.kind = Kind::Bool, .integer = 1}); break;
    case 0x89: push({.kind = Kind::Bool, .integer = 0}); break;
    case 'J': push_integer(number<int32_t>()); break;
    case 'K': push_integer(number<uint8_t>()); break;
    case 'M': push_integer(number<uint16_t>()); break;
    case 0x8a: push_long(number<uint8_t>()); break;
    case 0x8b: push_long(number<uint32_t>()); break;
    case 'G': {  // BINFLOAT, the only big-endian number
      const uint64_t bits = __builtin_bswap64(number<uint64_t>());
      push({.kind = Kind::Float, .number = std::bit_cast<double>(bits)});
      break;
    }
    case 'X': push_text(Kind::Text, number<uint32_t>()); break;
    case 0x8c: push_text(Kind::Text, number<uint8_t>()); break;
    case 0x8d: push_text(Kind::Text, number<uint64_t>()); break;
    case 'T': push_text(Kind::Text, number<uint32_t>()); break;  // str of Python 2
    case 'U': push_text(Kind::Text, number<uint8_t>()); break;
    case 'B': push_text(Kind::Bytes, number<uint32_t>()); break;
    case 'C': push_text(Kind::Bytes, number<uint8_t>()); break;
    case 0x8e: push_text(Kind::Bytes, number<uint64_t>()); break;
    case 0x96: push_text(Kind::Bytes, number<uint64_t>()); break;  // bytearray
    default:
      if (!step_collection(opcode)) step_object(opcode);
  }
  return true;
}

// Collections. Returns false for other opcodes.
bool PickleReader::step_collection(uint8_t opcode) {
  switch (opcode) {
    case '(': marks_.push_back(stack_.size()); break;
    case '1': pop_marked(); break;
    case ')': push_tuple(0); break;
    case 0x85: push_tuple(1); break;
    case 0x86: push_tuple(2); break;
    case 0x87: push_tuple(3); break;
    case 't': {
      auto items = pop_marked();
      push({.kind = Kind::Tuple, .items = std::move(items)});
      break;
    }
    case ']': push({.kind = Kind::List}); break;
    case 'l': {
      auto items = pop_marked();
      push({.kind = Kind::List, .items = std::move(items)});
      break;
    }
    case 'a': {
      const PickleValue* item = &pop();
      extend(Kind::List, {item});
      break;
    }
    case 'e': extend(Kind::List, pop_marked()); break;
    case '}': push({.kind = Kind::Dict}); break;
    case 'd': {
      const auto items = pop_marked();
      push({.kind = Kind::Dict});
      extend(Kind::Dict, items);
      break;
    }
    case 's': {
      const PickleValue* value = &pop();
      const PickleValue* key = &pop();
      extend(Kind::Dict, {key, value});
      break;
    }
    case 'u': extend(Kind::Dict, pop_marked()); break;
    case 0x8f: push({.kind = Kind::Set}); break;
    case 0x90: extend(Kind::Set, pop_marked()); break;
    case 0x91: {  // FROZENSET
      auto items = pop_marked();
      push({.kind = Kind::Set, .items = std::move(items)});
      break;
    }
    default: return false;
  }
  return true;
}

// Stack, memo, globals and calls.
void PickleReader::step_object(uint8_t opcode) {
  switch (opcode) {
    case '0': pop(); break;
    case '2': stack_.push_back(&top()); break;
    case 'q': remember(number<uint8_t>()); break;
    case 'r': remember(number<uint32_t>()); break;
    case 0x94: remember(memo_.size()); break;
    case 'h': recall(number<uint8_t>()); break;
    case 'j': recall(number<uint32_t>()); break;
    case 'c': {
      const std::string_view module = line();
      push_global(module, line());
      break;
    }
    case 0x93: {  // STACK_GLOBAL
      const PickleValue& name = pop();
      const PickleValue& module = pop();
      if (name.kind != Kind::Text || module.kind != Kind::Text) damaged("names a global by a value that is not text");
      push_global(module.text, name.text);
      break;
    }
    case 'R':
    case 0x81: reduce(); break;  // REDUCE; NEWOBJ: cls.__new__(cls, *arguments)
    case 0x92: {                 // NEWOBJ_EX: the same with keyword arguments, which follow the others
      const PickleValue& keywords = pop();
      const PickleValue& arguments = pop();
      const PickleValue& callee = pop();
      if (keywords.kind != Kind::Dict || arguments.kind != Kind::Tuple) damaged("calls a value that is not callable");
      call(callee, arguments.items);
      break;
    }
    case 'i': {  // INST: a class by name, its arguments on the stack
      const std::string_view module = line();
      push_global(module, line());
      const PickleValue& callee = pop();
      call(callee, pop_marked());
      break;
    }
    case 'o': {  // OBJ: a class and its arguments on the stack
      const std::vector<const PickleValue*> items = pop_marked();
      if (items.empty()) damaged("calls a value that is not callable");
      call(*items.front(), {items.begin() + 1, items.end()});
      break;
    }
    case 'b': {  // BUILD: sets attributes, such as the _metadata of a state_dict
      const PickleValue& state = pop();
      PickleValue& target = top();
      if (target.kind == Kind::Call)
        target.state = &state;
      else if (target.kind != Kind::Dict && target.kind != Kind::List && target.kind != Kind::Set)
        damaged("sets attributes of a scalar");
      break;
    }
    case 'Q': {  // BINPERSID
      const PickleValue& id = pop();
      if (id.kind != Kind::Tuple) damaged("has a persistent identifier that is not a tuple");
      push({.kind = Kind::Persistent, .items = id.items});
      break;
    }
    default:
      fail("%s: its pickle has the opcode 0x%02x at byte %zu, which protocols 2 to 5 of torch.save do not write",
           where_.c_str(), opcode, at_ - 1);
  }
}

}  // namespace

Pickle read_pickle(std::string_view bytes, const std::string& where) { return PickleReader(bytes, where).read(); }

}  // namespace ferry
