#include "sdk/text/template/chat.h"

#include "sdk/text/template/work.h"

namespace ferry::jinja {

Status read_chat(std::string_view chat, std::span<const SpecialToken> tokens, Arena& arena, Value* context) {
  Value given;
  FERRY_TRY(parse_json(chat, arena, &given));
  Work work(arena);
  const Value* messages = given.is(Type::Dict) ? given.dict->find(work, "messages") : nullptr;
  if (messages == nullptr || !messages->is(Type::List))
    return error(FERRY_INVALID_ARGUMENT,
                 "a chat is a JSON object with a list of \"messages\", as {\"messages\": [{\"role\": \"user\", "
                 "\"content\": \"Hello\"}], \"add_generation_prompt\": true}");
  auto* dict = work.make<Dict>();
  if (dict == nullptr) return work.status();
  for (const SpecialToken& token : tokens) dict->put(work, string(token.name), string(token.text));
  for (const char* name : {"tools", "documents"}) dict->put(work, string(name), none());
  dict->put(work, string("add_generation_prompt"), boolean(false));
  for (uint32_t i = 0; i < given.dict->size && !work.failed(); ++i) {
    const Dict::Entry& entry = given.dict->entries[i];
    if (entry.key.uncharged() != "kwargs" || !entry.value.is(Type::Dict)) dict->put(work, entry.key, entry.value);
  }
  if (const Value* further = given.dict->find(work, "kwargs"); further != nullptr && further->is(Type::Dict))
    for (uint32_t i = 0; i < further->dict->size && !work.failed(); ++i)
      dict->put(work, further->dict->entries[i].key, further->dict->entries[i].value);
  *context = mapping(dict);
  return work.status();
}

bool offers_tools(const Value& context) {
  for (uint32_t i = 0; i < context.dict->size; ++i)
    if (context.dict->entries[i].key.uncharged() == "tools") return truth(context.dict->entries[i].value);
  return false;
}

}  // namespace ferry::jinja
