// Tokenizer files beside a checkpoint, compiled and used. The first two bytes are the network's vocabulary.
#include <flatbuffers/flatbuffers.h>

#include <cstring>

#include "converter/text/llama2c_tokenizer.h"
#include "sdk/model/verify_meaning.h"
#include "sdk/text/tokenizer.h"
#include "tests/fuzz/harness.h"

FERRY_FUZZ(tokenizer) {
  uint16_t vocabulary = 0;
  if (bytes.size() < sizeof vocabulary) return;
  std::memcpy(&vocabulary, bytes.data(), sizeof vocabulary);
  const auto file = Folder::get().write("tokenizer.bin", text.substr(sizeof vocabulary));
  expect_error_only([&] {
    const auto table = read_llama2c_tokenizer(file, vocabulary);
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
