// ferry template
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/command.h"
#include "cli/generation.h"
#include "cli/print.h"
#include "converter/text/chat_template.h"
#include "converter/text/text_files.h"
#include "sdk/text/render_chat.h"
#include "sdk/text/verify_text.h"

namespace ferry::cli {
namespace {

namespace fs = std::filesystem;

struct TemplateOptions {
  std::string from, chat;
};

std::string read_chat_file(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("%s cannot be read", path.c_str());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The bytes of a blob's text part.
std::vector<uint8_t> text_of_blob(const std::string& path) {
  const ModelHandle model = open_model(path);
  size_t bytes = 0;
  const auto* data = static_cast<const uint8_t*>(ferry_model_text(model.get(), &bytes));
  return {data, data + bytes};
}

std::vector<uint8_t> text_of_folder(const std::string& path) {
  fbs::TextT text;
  add_chat_template(chat_template_in(fs::path(path)), &text);
  return packed(text);
}

int render(const TemplateOptions& o) {
  const std::vector<uint8_t> bytes = fs::is_directory(o.from) ? text_of_folder(o.from) : text_of_blob(o.from);
  if (bytes.empty()) fail("%s has no chat template", o.from.c_str());
  const fbs::Text* text = nullptr;
  check(read_text(std::as_bytes(std::span(bytes)), &text));
  if (text->chat_template() == nullptr || text->chat_template()->size() == 0)
    fail("%s has no chat template", o.from.c_str());
  std::string rendered;
  if (const Status status = render_chat(*text, read_chat_file(o.chat), &rendered); !status.ok())
    fail("%s: %s", o.chat.c_str(), status.message().data());
  print_data(rendered);
  return kDone;
}

}  // namespace

void add_template(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "template", "Render a conversation with a model's chat template");
  app.footer(
      "\nCHAT is a JSON object: \"messages\", \"tools\", \"documents\", \"add_generation_prompt\", and the other\n"
      "variables of the template. The text is printed verbatim, without a newline at its end.\n"
      "\nExamples:\n"
      "  ferry template qwen.ferry chat.json\n"
      "  ferry template Qwen3-0.6B/ chat.json         from tokenizer_config.json or chat_template.jinja in the folder\n"
      "  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}], \"add_generation_prompt\": true}' |\n"
      "      ferry template qwen.ferry -");
  auto o = std::make_shared<TemplateOptions>();
  app.add_option("MODEL", o->from, "The blob, or the folder of a language model").required().type_name("");
  app.add_option("CHAT", o->chat, "The JSON file; -: standard input").required().type_name("");
  app.callback([o, exit_code] { *exit_code = render(*o); });
}

}  // namespace ferry::cli
