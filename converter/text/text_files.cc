#include "converter/text/text_files.h"

#include <span>

#include "converter/error.h"
#include "sdk/text/verify_text.h"

namespace ferry {

std::vector<uint8_t> packed(const fbs::TextT& text) {
  flatbuffers::FlatBufferBuilder builder(1 << 20);
  fbs::FinishTextBuffer(builder, fbs::CreateText(builder, &text));
  // A copy: the builder's bytes are at the end of its buffer.
  std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  const fbs::Text* read = nullptr;
  if (const Status status = read_text(std::as_bytes(std::span(bytes)), &read); !status.ok())
    fail("the compiled text is inconsistent: %s", status.message().data());
  return bytes;
}

}  // namespace ferry
