// ferry chat
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/clock.h"
#include "cli/command.h"
#include "cli/generation.h"
#include "sdk/text/verify_text.h"
#include "text_generated.h"

namespace ferry::cli {
namespace {

using nlohmann::ordered_json;

struct ChatOptions {
  std::string model, system, load;
  std::vector<std::string> images;
  BackendOptions backend;
  SamplingOptions sampling;
  ThreadOptions threads;
  int max_tokens = 0;
};

// The messages so far, rendered by the model's chat template.
class Conversation {
 public:
  explicit Conversation(const std::string& system) : system_(system) { reset(); }

  void reset() {
    messages_ = ordered_json::array();
    if (!system_.empty()) say("system", system_);
  }
  void say(const char* role, const std::string& content) {
    messages_.push_back({{"role", role}, {"content", content}});
  }
  // Adds the user's message, with so many images before it.
  void ask(const std::string& content, size_t images) {
    if (images == 0) return say("user", content);
    ordered_json parts = ordered_json::array();
    for (size_t i = 0; i < images; ++i) parts.push_back({{"type", "image"}});
    parts.push_back({{"type", "text"}, {"text", content}});
    messages_.push_back({{"role", "user"}, {"content", parts}});
  }
  size_t size() const { return messages_.size(); }
  // Removes the messages after the first `size`.
  void take_back(size_t size) {
    while (messages_.size() > size) messages_.erase(messages_.size() - 1);
  }
  // The conversation as JSON, and the inverse, which throws Error if `json` is no conversation.
  std::string saved() const { return messages_.dump(-1, ' ', false, ordered_json::error_handler_t::replace); }
  void restore(const std::string& json) {
    const ordered_json saved = ordered_json::parse(json, nullptr, false);
    const auto is_message = [](const ordered_json& m) {
      return m.is_object() && m.value("role", ordered_json()).is_string() &&
             m.value("content", ordered_json()).is_string();
    };
    if (!saved.is_array() || !std::all_of(saved.begin(), saved.end(), is_message))
      fail("this is not a conversation that ferry chat saved");
    messages_ = ordered_json::array();
    for (const ordered_json& message : saved)
      say(message["role"].get_ref<const std::string&>().c_str(), message["content"]);
  }
  // The prompt that the template makes of it, up to the beginning of the answer.
  std::string rendered(const TextHandle& text) const {
    const ordered_json chat = {{"messages", messages_}, {"add_generation_prompt", true}};
    return render(text, chat.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  }

 private:
  std::string system_;
  ordered_json messages_;
};

// Generation speed, without the first token of each answer.
struct Speed {
  size_t tokens = 0;
  double seconds = 0;
};

// Generates the answer to the conversation, and prints it.
std::string answer(const ChatOptions& o, const Conversation& conversation, const TextHandle& text,
                   const GeneratorHandle& generator, Speed* speed) {
  const std::string prompt = conversation.rendered(text);
  const size_t room = ferry_generator_max_length(generator.get());
  const ferry_status status = ferry_generator_set_text(generator.get(), prompt.data(), prompt.size());
  if (status == FERRY_STATE_FULL)
    fail(
        "the conversation is longer than the %zu tokens that the model holds: /reset starts again, and `ferry convert "
        "--max-length` sets the length",
        room);
  check(status);
  const size_t tokens = tokens_of(generator).size();
  if (tokens == room)
    fail("the conversation has %zu tokens, which is the model's maximum: /reset starts again", tokens);
  size_t left = room - tokens;
  if (o.max_tokens > 0) left = std::min(left, static_cast<size_t>(o.max_tokens));
  std::string said;
  Clock::time_point first = Clock::now();
  for (size_t count = 0; count < left && !ferry_generator_ended(generator.get()); ++count) {
    int32_t token = 0;
    check(ferry_generator_next(generator.get(), &token));
    if (count == 0) first = Clock::now();
    if (count > 0) ++speed->tokens;
    const std::string piece = text_of(generator);
    print(piece);
    said += piece;
  }
  speed->seconds += seconds_since(first);
  print("\n");
  return said;
}

// The argument of a line such as "/save FILE"; nothing if the line is another command.
std::optional<std::string> argument(const std::string& line, const std::string& name) {
  if (!line.starts_with(name + " ")) return std::nullopt;
  const size_t begin = line.find_first_not_of(' ', name.size());
  return begin == std::string::npos ? std::nullopt : std::optional(line.substr(begin));
}

void save(const std::string& path, const Conversation& conversation, const GeneratorHandle& generator) {
  const std::string note = conversation.saved();
  check(ferry_generator_save(generator.get(), path.c_str(), note.data(), note.size()));
}

void load(const std::string& path, Conversation* conversation, const GeneratorHandle& generator) {
  check(ferry_generator_load(generator.get(), path.c_str()));
  size_t bytes = 0;
  const void* note = ferry_generator_note(generator.get(), &bytes);
  try {
    conversation->restore({static_cast<const char*>(note), bytes});
  } catch (const Error& error) {
    fail("%s: %s", path.c_str(), error.what());
  }
}

bool has_template(const ModelHandle& model) {
  size_t bytes = 0;
  const void* data = ferry_model_text(model.get(), &bytes);
  const fbs::Text* text = nullptr;
  check(read_text(std::span(static_cast<const std::byte*>(data), bytes), &text));
  return text->chat_template() != nullptr && text->chat_template()->size() > 0;
}

int chat(const ChatOptions& o) {
  ferry_session_options options = session_options(o.threads);
  const ModelHandle model = open_model(o.model);
  set_backend(o.backend, &options);
  const TextHandle text = open_text(model);
  if (!text) fail("%s has no tokenizer: use `ferry run --tokens` with token ids", o.model.c_str());
  if (!has_template(model))
    fail("%s has no chat template: use `ferry run --prompt TEXT`, which generates after a text", o.model.c_str());
  const GeneratorHandle generator = create_generator(model, options);
  set_sampling(o.sampling, Sampling::Random, generator);
  if (const std::string gpu = software_gpu(ferry_generator_session(generator.get())); !gpu.empty())
    std::fprintf(stderr, "ferry chat: %s\n", gpu.c_str());
  size_t images = 0;  // before the next message
  const auto begin = [&] {
    check(ferry_generator_reset(generator.get()));
    for (const std::string& path : o.images) add_image(path, generator);
    images = o.images.size();
  };
  begin();
  Conversation conversation(o.system);
  if (!o.load.empty()) {
    load(o.load, &conversation, generator);
    images = 0;
  }
  const bool person = isatty(STDIN_FILENO) != 0;
  if (person)
    std::fprintf(stderr, "/reset starts again, /save FILE and /load FILE store it, /exit or the end of input ends\n");
  Speed speed;
  std::string line;
  while ((person ? print("> ") : void()), std::getline(std::cin, line)) {
    if (line == "/exit") break;
    if (line.empty()) continue;
    if (line == "/reset") {
      conversation.reset();
      begin();
      continue;
    }
    const size_t before = conversation.size();
    try {
      if (const auto file = argument(line, "/save")) {
        save(*file, conversation, generator);
      } else if (const auto from = argument(line, "/load")) {
        load(*from, &conversation, generator);
        images = 0;
      } else if (line.starts_with('/')) {
        std::fprintf(stderr, "ferry chat: no command is called '%s': /reset, /save FILE, /load FILE, /exit\n",
                     line.c_str());
      } else {
        conversation.ask(line, images);
        conversation.say("assistant", answer(o, conversation, text, generator, &speed));
        images = 0;
      }
    } catch (const Error& error) {
      if (!person) throw;
      conversation.take_back(before);
      std::fprintf(stderr, "ferry chat: %s\n", error.what());
    }
  }
  if (speed.tokens > 0)
    std::fprintf(stderr, "%.1f tokens a second\n", static_cast<double>(speed.tokens) / speed.seconds);
  return kDone;
}

}  // namespace

void add_chat(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "chat", "Talk with a language model");
  app.footer(
      "\nReads messages line by line and prints the model's answers as they are generated. The blob's chat template\n"
      "renders the conversation, and only its new tokens are computed. /reset starts again, /save FILE and /load FILE\n"
      "store a conversation with the model's state, /exit or the end of input ends; then the speed is printed. The "
      "first\n"
      "message is about the images of --image, for models that accept images. Without a chat template, use\n"
      "`ferry run --prompt`.\n"
      "\nExamples:\n"
      "  ferry chat qwen.ferry\n"
      "  ferry chat qwen.ferry --system 'Answer in one sentence.' --temperature 0\n"
      "  ferry chat qwen-vl.ferry --image photo.jpg\n"
      "  echo 'What is a ferry?' | ferry chat qwen.ferry --seed 1 --max-tokens 100");
  auto o = std::make_shared<ChatOptions>();
  app.add_option("MODEL", o->model, "The blob").required().type_name("");
  app.add_option("--system", o->system, "The system message, before the conversation").type_name("TEXT");
  app.add_option("--image", o->images, "An image to talk about: JPEG, PNG or BMP; may be repeated").type_name("FILE");
  app.add_option("--load", o->load, "Continue a conversation that /save stored").type_name("FILE");
  app.add_option("--max-tokens", o->max_tokens, "Maximum tokens of an answer. Without it: as many as the model holds")
      .range(1, INT32_MAX)
      .type_name("N");
  add_sampling_options(app, &o->sampling);
  add_backend_options(app, &o->backend, Tuning::Yes);
  add_thread_options(app, &o->threads);
  app.callback([o, exit_code] { *exit_code = chat(*o); });
}

}  // namespace ferry::cli
