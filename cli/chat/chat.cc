// ferry chat
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>

#include "cli/chat/conversation.h"
#include "cli/chat/line_editor.h"
#include "cli/chat/settings.h"
#include "cli/chat/terminal.h"
#include "cli/chat/thinking.h"
#include "cli/clock.h"
#include "cli/command.h"
#include "cli/generation.h"
#include "cli/packed_cache.h"
#include "cli/peak_memory.h"
#include "cli/print.h"
#include "cli/text.h"

namespace ferry::cli {
namespace {

constexpr int kInterrupted = 128 + SIGINT;  // as shells report it

constexpr const char* kHelp =
    "/set NAME VALUE   a sampling option or a variable of the chat template, as in /set temperature 0.2 or\n"
    "                  /set enable_thinking false; 'default' as VALUE resets it; /set lists them\n"
    "/reset            starts again\n"
    "/save FILE        stores the conversation; /load FILE restores it\n"
    "/exit             ends, as does Ctrl-D\n"
    "//TEXT            says a text that begins with /\n"
    "Ctrl-C            ends the answer; again, or at the prompt: ends the program\n"
    "Alt-Enter         begins a new line; a paste of many lines is one message; up and down recall earlier ones\n";

struct ChatOptions {
  std::string model, system, load, overflow = "stop";
  std::vector<std::string> images;
  BackendOptions backend;
  SamplingOptions sampling;
  ThreadOptions threads;
  CacheOptions cache;
  int max_tokens = 0;
  bool hide_thinking = false, no_history = false;

  bool shifts() const { return overflow == "shift"; }
};

// Generation speed, without the first token of each answer.
struct Speed {
  size_t tokens = 0;
  double seconds = 0;
};

// Prints answers; thinking is dim on a terminal, or hidden.
class AnswerPrinter {
 public:
  explicit AnswerPrinter(bool hide_thinking) : hide_(hide_thinking) {
    const char *term = std::getenv("TERM"), *plain = std::getenv("NO_COLOR");
    dims_ = isatty(STDOUT_FILENO) != 0 && term != nullptr && std::strcmp(term, "dumb") != 0 && plain == nullptr;
  }

  void print(const std::vector<Thinking::Part>& parts) {
    for (const Thinking::Part& part : parts) {
      if (part.thought && hide_) {
        hidden_ = true;
        continue;
      }
      if (part.thought != dim_ && dims_) print_styled((dim_ = part.thought) ? "\x1b[2m" : "\x1b[0m");
      // The spaces between hidden thinking and the answer belong to neither.
      const size_t begin = hidden_ ? std::min(part.text.find_first_not_of(" \n"), part.text.size()) : 0;
      hidden_ &= begin == part.text.size();
      print_text(std::string_view(part.text).substr(begin));
    }
    std::fflush(stdout);
  }
  void finish() {
    print_styled(dim_ ? "\x1b[0m\n" : "\n");
    std::fflush(stdout);
    dim_ = hidden_ = false;
  }

 private:
  bool hide_, dims_, dim_ = false, hidden_ = false;
};

class Chat {
 public:
  Chat(const ChatOptions& o, const ModelHandle& model, TextHandle text, const ferry_session_options& session,
       Terminal* terminal)
      : o_(o),
        terminal_(terminal),
        text_(std::move(text)),
        generator_(create_generator(model, session)),
        conversation_(o.system),
        settings_(&o_.sampling, &o_.max_tokens, &conversation_, generator_, template_names(model)),
        printer_(o.hide_thinking) {
    set_sampling(o_.sampling, Sampling::Random, generator_);
    begin();
    if (!o_.load.empty()) load(o_.load);
  }

  // Answers a line, or does what it says. False: the conversation ends.
  bool take(const std::string& line);
  const GeneratorHandle& generator() const { return generator_; }
  const Speed& speed() const { return speed_; }

 private:
  void begin();
  bool command(const std::string& line);
  void answer(const std::string& question);
  struct Prompt {
    std::string text;
    size_t tokens;
  };
  Prompt set_prompt();
  bool make_room(const std::vector<int32_t>& said);
  bool generate(size_t prompt, Thinking* thinking);
  void save(const std::string& path);
  void load(const std::string& path);

  ChatOptions o_;
  Terminal* terminal_;  // null: standard input is no terminal
  TextHandle text_;
  GeneratorHandle generator_;
  Conversation conversation_;
  Settings settings_;
  AnswerPrinter printer_;
  Speed speed_;
  size_t images_ = 0;  // before the next message
};

void Chat::begin() {
  check(ferry_generator_reset(generator_.get()));
  for (const std::string& path : o_.images) add_image(path, generator_);
  images_ = o_.images.size();
}

void Chat::save(const std::string& path) {
  const std::string note = conversation_.saved();
  check(ferry_generator_save(generator_.get(), path.c_str(), note.data(), note.size()));
}

void Chat::load(const std::string& path) {
  check(ferry_generator_load(generator_.get(), path.c_str()));
  size_t bytes = 0;
  const void* note = ferry_generator_note(generator_.get(), &bytes);
  try {
    conversation_.restore({static_cast<const char*>(note), bytes});
  } catch (const Error& error) {
    fail("%s: %s", path.c_str(), error.what());
  }
  images_ = 0;
}

// Sets the generator's text to the conversation. With --overflow shift the oldest turns make room for an answer.
Chat::Prompt Chat::set_prompt() {
  const size_t holds = ferry_generator_max_length(generator_.get());
  size_t reserve = o_.shifts() ? holds / 4 : 1;
  if (o_.max_tokens > 0) reserve = std::min(reserve, static_cast<size_t>(o_.max_tokens));
  for (size_t before = conversation_.size();;) {
    const std::string prompt = conversation_.rendered(text_);
    const ferry_status status = ferry_generator_set_text(generator_.get(), prompt.data(), prompt.size());
    if (status != FERRY_STATE_FULL) check(status);
    const size_t tokens = status == FERRY_STATE_FULL ? holds + 1 : tokens_of(generator_).size();
    if (tokens + reserve > holds && o_.shifts() && conversation_.forget_oldest()) continue;
    if (conversation_.size() < before)
      print_error("ferry chat: the model holds %zu tokens: the %zu oldest messages were dropped\n", holds,
                  before - conversation_.size());
    if (tokens < holds) return {prompt, tokens};
    if (status == FERRY_STATE_FULL)
      fail(
          "the conversation is longer than the %zu tokens that the model holds: /reset starts again, --overflow shift "
          "drops the oldest messages, and `ferry convert --max-length` sets the length",
          holds);
    fail("the conversation has %zu tokens, which is the model's maximum: /reset starts again", tokens);
  }
}

// When the model is full in the middle of an answer: drops the oldest messages, and sets the generator's text to the
// others and what was said so far.
bool Chat::make_room(const std::vector<int32_t>& said) {
  if (!o_.shifts()) return false;
  const size_t holds = ferry_generator_max_length(generator_.get()), before = conversation_.size();
  while (conversation_.forget_oldest()) {
    Ids tokens = encode(text_, conversation_.rendered(text_), false);
    tokens.insert(tokens.end(), said.begin(), said.end());
    if (tokens.size() >= holds) continue;
    check(ferry_generator_set(generator_.get(), tokens.data(), tokens.size()));
    printer_.finish();
    print_error("ferry chat: the model holds %zu tokens: the %zu oldest messages were dropped\n", holds,
                before - conversation_.size());
    return true;
  }
  return false;
}

// False: Ctrl-C ended it before the first token.
bool Chat::generate(size_t prompt, Thinking* thinking) {
  const size_t holds = ferry_generator_max_length(generator_.get());
  const Terminal::Answer watch(terminal_, generator_.get());
  Ids said;
  Clock::time_point first = Clock::now();
  size_t used = prompt;
  bool full = false;
  while (!ferry_generator_ended(generator_.get()) && !watch.interrupted()) {
    if (o_.max_tokens > 0 && said.size() == static_cast<size_t>(o_.max_tokens)) break;
    full = used == holds && !make_room(said);
    if (full) break;
    if (used == holds) used = tokens_of(generator_).size();
    int32_t token = 0;
    const ferry_status status = ferry_generator_next(generator_.get(), &token);
    if (status == FERRY_CANCELLED && watch.interrupted()) break;
    check(status);
    ++used;
    if (said.empty()) first = Clock::now();
    if (!said.empty()) ++speed_.tokens;
    said.push_back(token);
    const std::string piece = text_of(generator_);
    const bool control = piece.empty() && !ferry_generator_ended(generator_.get());
    printer_.print(thinking->append(control ? decode(text_, {token}) : piece, control));
  }
  if (!said.empty()) speed_.seconds += seconds_since(first);
  printer_.print(thinking->finish());
  printer_.finish();
  if (full)
    print_error("ferry chat: the answer ends at the %zu tokens that the model holds: /reset starts again%s\n", holds,
                o_.shifts() ? "" : ", and --overflow shift drops the oldest messages");
  return !said.empty() || !watch.interrupted();
}

void Chat::answer(const std::string& question) {
  conversation_.ask(question, images_);
  const Prompt prompt = set_prompt();
  Thinking thinking(prompt.text);
  if (!generate(prompt.tokens, &thinking)) return conversation_.take_back(conversation_.size() - 1);
  if (thinking.apart())
    conversation_.answer(thinking.answer(), thinking.thoughts());
  else
    conversation_.say("assistant", thinking.thoughts() + thinking.answer());
  images_ = 0;
}

// The argument of a line such as "/save FILE"; nothing if the line is another command.
std::optional<std::string> argument(const std::string& line, const std::string& name) {
  if (!line.starts_with(name + " ")) return std::nullopt;
  const size_t begin = line.find_first_not_of(' ', name.size());
  return begin == std::string::npos ? std::nullopt : std::optional(line.substr(begin));
}

bool Chat::command(const std::string& line) {
  if (line == "/exit") return false;
  if (line == "/help") {
    print_text(kHelp, stderr);
  } else if (line == "/reset") {
    conversation_.reset();
    begin();
  } else if (const auto file = argument(line, "/save")) {
    save(*file);
  } else if (const auto from = argument(line, "/load")) {
    load(*from);
  } else if (const auto words = argument(line, "/set")) {
    settings_.set(*words);
  } else if (line == "/set") {
    print_text(settings_.text(), stderr);
  } else if (const std::string word = line.substr(0, line.find_first_of(" \n")); word == "/save" || word == "/load") {
    print_error("ferry chat: name a file: /save FILE, /load FILE\n");
  } else {
    print_error("ferry chat: no command is called '%s': /help lists them, and // begins a text with /\n", word.c_str());
  }
  return true;
}

bool Chat::take(const std::string& line) {
  if (line.empty()) return true;
  if (line.starts_with('/') && !line.starts_with("//")) return command(line);
  const size_t before = conversation_.size();
  try {
    answer(line.starts_with('/') ? line.substr(1) : line);
  } catch (const Error&) {
    conversation_.take_back(std::min(before, conversation_.size()));
    throw;
  }
  return true;
}

bool has_template(const TextHandle& text) {
  size_t bytes = 0;
  const std::string chat = R"({"messages":[]})";
  return ferry_text_render(text.get(), chat.data(), chat.size(), nullptr, &bytes) != FERRY_NOT_FOUND;
}

// Reads the user's lines until the end; the exit code.
int converse(Chat& chat, Terminal* terminal, bool keeps_history) {
  History history(terminal != nullptr && keeps_history ? history_file() : std::string());
  std::optional<LineEditor> editor;
  if (terminal != nullptr) {
    editor.emplace(*terminal, history);
    print_error("/help lists the commands; Ctrl-C ends an answer, Ctrl-D the conversation\n");
  }
  for (;;) {
    std::string line;
    if (editor) {
      const LineEditor::Result result = editor->read("> ", &line);
      if (result != LineEditor::Result::Line) return result == LineEditor::Result::End ? kDone : kInterrupted;
    } else if (!std::getline(std::cin, line)) {
      return kDone;
    }
    try {
      if (!chat.take(line)) return kDone;
    } catch (const Error& error) {
      if (!editor) throw;
      print_error("ferry chat: %s\n", error.what());
    }
  }
}

int chat(const ChatOptions& o) {
  if (o.overflow != "stop" && o.overflow != "shift") fail("--overflow %s: expected stop or shift", o.overflow.c_str());
  // What is typed while the model is opened is read later, so the terminal's modes are set first.
  std::optional<Terminal> terminal;
  if (Terminal::present()) terminal.emplace();
  Terminal* const person = terminal ? &*terminal : nullptr;
  ferry_session_options options = session_options(o.threads);
  const ModelHandle model = open_model(o.model);
  set_backend(o.backend, &options);
  TextHandle text = open_text(model);
  if (!text) fail("%s has no tokenizer: use `ferry run --tokens` with token ids", o.model.c_str());
  if (!has_template(text))
    fail("%s has no chat template: use `ferry run --prompt TEXT`, which generates after a text", o.model.c_str());
  const PackedCache cache(o.cache, o.model);
  cache.use(&options);
  Chat chat(o, model, std::move(text), options, person);
  if (const std::string gpu = software_gpu(ferry_generator_session(chat.generator().get())); !gpu.empty())
    print_error("ferry chat: %s\n", gpu.c_str());
  const int code = converse(chat, person, !o.no_history);
  cache.finish_check(model);
  if (chat.speed().tokens > 0)
    print_error("%.1f tokens a second, %s of memory (at most %s with the mapped weights)\n",
                static_cast<double>(chat.speed().tokens) / chat.speed().seconds, bytes_text(private_bytes()).c_str(),
                bytes_text(peak_resident_bytes()).c_str());
  return code;
}

}  // namespace

void add_chat(CLI::App& ferry, int* exit_code) {
  const Command app(ferry, "chat", "Talk with a language model");
  app.footer(
      "\nReads messages line by line and prints the model's answers as they are generated. The blob's chat template\n"
      "renders the conversation, and only its new tokens are computed. In a terminal, Ctrl-C ends an answer, a paste "
      "of\n"
      "many lines is one message, earlier lines are recalled by the up key, and thinking is dim.\n"
      "\nCommands are lines of their own: /help lists them. /set NAME VALUE changes sampling or a variable of the\n"
      "template, /reset starts again, /save FILE and /load FILE store a conversation with the model's state, /exit or\n"
      "the end of input ends; then speed and memory are printed. A message that begins with / is written with //. The\n"
      "first message is about the images of --image, for models that accept images. Without a chat template, use\n"
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
  app.add_option("--overflow", o->overflow,
                 "When the conversation is longer than the model holds: stop, or shift: drop the oldest messages "
                 "behind\nthe system message")
      .type_name("stop|shift")
      .capture_default_str();
  app.add_flag("--hide-thinking", o->hide_thinking, "Print answers without the thinking before them");
  app.add_flag("--no-history", o->no_history, "Do not read or store the lines of earlier conversations");
  add_sampling_options(app, &o->sampling);
  add_kv_option(app, &o->backend);
  add_backend_options(app, &o->backend, Tuning::Yes);
  add_cache_options(app, &o->cache);
  add_thread_options(app, &o->threads);
  app.callback([o, exit_code] { *exit_code = chat(*o); });
}

}  // namespace ferry::cli
