// Tokenizer files beside a checkpoint, compiled and used: a tokenizer.json if the first byte is '{', else llama2.c's,
// with the vocabulary size in the first two bytes.
#include <flatbuffers/flatbuffers.h>

#include <cstring>

#include "converter/text/huggingface/tokenizer.h"
#include "converter/text/llama2c_tokenizer.h"
#include "sdk/text/tokenizer.h"
#include "sdk/text/verify_text.h"
#include "tests/fuzz/harness.h"

FERRY_FUZZ(tokenizer) {
  uint16_t vocabulary = 0;
  if (bytes.size() < sizeof vocabulary) return;
  std::memcpy(&vocabulary, bytes.data(), sizeof vocabulary);
  const bool json = text[0] == '{';
  const auto file =
      Folder::get().write(json ? "tokenizer.json" : "tokenizer.bin", text.substr(json ? 0 : sizeof vocabulary));
  expect_error_only([&] {
    std::vector<std::string> notes;
    const auto table = json ? read_huggingface_tokenizer(file.parent_path(), file.filename(), &notes)
                            : read_llama2c_tokenizer(file, vocabulary);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fbs::CreateTokenizer(builder, table.get()));
    const auto* read = flatbuffers::GetRoot<fbs::Tokenizer>(builder.GetBufferPointer());
    if (!verify_tokenizer(*read).ok()) return;
    std::unique_ptr<Tokenizer> tokenizer;
    require(Tokenizer::create(*read, &tokenizer).ok(), "a sound tokenizer cannot be made");
    std::vector<int32_t> ids;
    if (!tokenizer->encode("the \xC3\xA9\xFF\xF0\x9F he", {}, &ids).ok()) return;
    TextDecoder decoder(*tokenizer);
    std::string written;
    for (const int32_t id : ids) decoder.append(id, &written);
    decoder.finish(&written);
    touch(written);
  });
}
