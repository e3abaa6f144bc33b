// Decoders of a tokenizer.json. The library runs each decoder over all tokens. Here, changes of a token's text are a
// list of replacements; changes of the whole text follow.
#include "converter/checkpoint/json.h"
#include "converter/error.h"
#include "converter/text/huggingface/parts.h"
#include "converter/text/huggingface/regex.h"

namespace ferry::huggingface {
namespace {

using nlohmann::json;

class DecoderCompiler {
 public:
  DecoderCompiler(bool bytewise, const std::string& where, fbs::TokenizerT* table)
      : bytewise_(bytewise),
        where_(where),
        table_(*table),
        out_(*(table->decoder = std::make_unique<fbs::DecoderT>())) {}

  void run(const json& decoder) {
    if (decoder.is_null())
      out_.separator = " ";
    else
      add(decoder);
    if (bytewise_ && out_.bytes != fbs::ByteDecoding::Longest)
      fail("%s: a ByteLevel pre-tokenizer without a ByteLevel decoder is not supported", where_.c_str());
  }

 private:
  [[noreturn]] void refuse(const std::string& type) const {
    fail("%s: the decoder %s %s is not supported", where_.c_str(), in_quotes(type).c_str(),
         fused_ ? "behind Fuse" : "at its place in a Sequence");
  }

  void add(const json& part) {
    const std::string type = type_of(part, where_);
    if (type == "Sequence") {
      if (absent(part, "decoders") || !part["decoders"].is_array())
        fail("%s: its Sequence has no \"decoders\"", where_.c_str());
      for (const json& each : part["decoders"]) add(each);
      return;
    }
    const bool first = !std::exchange(begun_, true);
    if (type == "Fuse") {
      fused_ = true;
    } else if (type == "Strip") {
      strip(part);
    } else if (fused_ || out_.bytes == fbs::ByteDecoding::Runs) {
      refuse(type);
    } else if (type == "ByteLevel") {
      if (!bytewise_ || !first) refuse(type);
      out_.bytes = fbs::ByteDecoding::Longest;
      fused_ = true;
    } else if (type == "ByteFallback") {
      byte_fallback();
    } else if (type == "Replace") {
      if (absent(part, "pattern")) fail("%s: its Replace has no \"pattern\"", where_.c_str());
      replace(expression_of(part["pattern"], where_), text_of(part, "content", where_));
    } else if (type == "Metaspace") {
      metaspace(part);
    } else if (type == "WordPiece") {
      if (!first) refuse(type);
      word_piece(part);
    } else if (type == "BPEDecoder") {
      const std::string suffix = text_of(part, "suffix", where_, "</w>");
      if (suffix.empty()) refuse(type);
      replace(escaped(suffix), " ");
      out_.replacements.back()->last.clear();
      out_.differs_at_end = true;
    } else {
      fail("%s: the decoder %s is not supported", where_.c_str(), in_quotes(type).c_str());
    }
  }

  void replace(const std::string& expression, const std::string& content) {
    auto made = std::make_unique<fbs::TokenReplaceT>();
    made->pattern = compile_regex(expression, where_);
    made->content = made->first = made->last = content;
    out_.replacements.push_back(std::move(made));
  }

  void byte_fallback() {
    out_.bytes = fbs::ByteDecoding::Runs;
    for (size_t id = 0; id < table_.pieces.size(); ++id) {
      const std::string& piece = table_.pieces[id];
      const auto digit = [&piece](size_t i) { return std::isxdigit(static_cast<unsigned char>(piece[i])) != 0; };
      if (table_.kinds[id] == fbs::PieceKind::Normal && piece.size() == 6 && piece.starts_with("<0x") && digit(3) &&
          digit(4) && piece[5] == '>')
        table_.kinds[id] = fbs::PieceKind::Byte;
    }
  }

  void metaspace(const json& part) {
    const bool never = !flag_of(part, "add_prefix_space", where_, true) ||
                       text_of(part, "prepend_scheme", where_, "always") == "never";
    replace(escaped(text_of(part, "replacement", where_, "\xE2\x96\x81")), " ");
    if (!never) out_.replacements.back()->first.clear();
  }

  void word_piece(const json& part) {
    out_.continuing = text_of(part, "prefix", where_, "##");
    if (!out_.continuing.empty()) out_.separator = " ";
    if (!flag_of(part, "cleanup", where_, true)) return;
    const std::pair<const char*, const char*> cleanup[] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : cleanup) replace(escaped(from), to);
  }

  // Per token, or of the whole text if the tokens are fused.
  void strip(const json& part) {
    constexpr int64_t kMaxStrip = 1000;
    const std::string content = text_of(part, "content", where_);
    const int64_t start = number_of(part, "start", where_, 0, kMaxStrip, 0),
                  stop = number_of(part, "stop", where_, 0, kMaxStrip, 0);
    if (!fused_) {
      if (out_.bytes == fbs::ByteDecoding::Runs) refuse("Strip");
      const std::string run = "(?:" + escaped(content) + "){1,";
      if (start > 0) replace("\\A" + run + std::to_string(start) + "}", "");
      if (stop > 0) replace(run + std::to_string(stop) + "}\\z", "");
      return;
    }
    if (stop > 0 || content.empty() || (out_.strip_count > 0 && start > 0)) refuse("Strip");
    if (start == 0) return;
    out_.strip = content;
    out_.strip_count = static_cast<uint32_t>(start);
  }

  bool bytewise_;
  const std::string& where_;
  fbs::TokenizerT& table_;
  fbs::DecoderT& out_;
  bool fused_ = false;  // tokens are fused to one text
  bool begun_ = false;
};

}  // namespace

void add_decoder(const json& decoder, bool bytewise, const std::string& where, fbs::TokenizerT* table) {
  DecoderCompiler(bytewise, where, table).run(decoder);
}

}  // namespace ferry::huggingface
