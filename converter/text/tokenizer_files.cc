#include "converter/text/tokenizer_files.h"

#include <string>

#include "converter/text/llama2c_tokenizer.h"

namespace ferry {

std::unique_ptr<fbs::TokenizerT> tokenizer_in(const std::filesystem::path& folder, int vocabulary) {
  for (const std::string& name : {"tok" + std::to_string(vocabulary) + ".bin", std::string("tokenizer.bin")})
    if (std::filesystem::exists(folder / name)) return read_llama2c_tokenizer(folder / name, vocabulary);
  return nullptr;
}

}  // namespace ferry
