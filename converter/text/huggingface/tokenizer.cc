#include "converter/text/huggingface/tokenizer.h"

#include "converter/error.h"
#include "converter/text/huggingface/parts.h"
#include "converter/text/huggingface/tokenizer_class.h"
#include "sdk/text/verify_text.h"

namespace ferry {

std::unique_ptr<fbs::TokenizerT> read_huggingface_tokenizer(const Companions& files, const std::string& name,
                                                            std::vector<std::string>* notes) {
  using nlohmann::json;
  const std::string where = files.where(name);
  const huggingface::TokenizerJson file = huggingface::read_tokenizer_json(files.read(name), where);
  const auto part = [&file](const char* key) { return file.rest.value(key, json()); };
  auto table = std::make_unique<fbs::TokenizerT>();
  StepBuilder normalizer(&table->normalizer, where), pre_tokenizer(&table->pre_tokenizer, where);
  huggingface::add_normalizer(part("normalizer"), normalizer);
  const bool bytewise = huggingface::add_pre_tokenizer(part("pre_tokenizer"), pre_tokenizer);
  for (const auto* steps : {&table->normalizer, &table->pre_tokenizer})
    if (steps->size() > kMaxSteps) fail("%s: more than %u steps", where.c_str(), kMaxSteps);
  huggingface::Ids ids;
  huggingface::add_model(file, bytewise, where, table.get(), &ids);
  huggingface::add_added_tokens(part("added_tokens"), where, table.get(), &ids);
  huggingface::add_post_processor(part("post_processor"), ids, where, table.get());
  huggingface::add_decoder(part("decoder"), bytewise, where, table.get());
  if (!table->scores.empty()) table->scores.resize(table->pieces.size());
  if (!table->merge_ends.empty())
    table->merge_ends.resize(table->pieces.size(), static_cast<uint32_t>(table->merges.size()));
  huggingface::apply_tokenizer_class(files, table.get(), notes);
  return table;
}

}  // namespace ferry
