// The messages of a conversation, and what the model's chat template makes of them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/generation.h"

namespace ferry::cli {

class Conversation {
 public:
  // `system`: the message before all others; "": none.
  explicit Conversation(const std::string& system) : system_(system) { reset(); }

  // Only the system message is left. Variables stay.
  void reset();
  void say(const char* role, const std::string& content) {
    messages_.push_back({{"role", role}, {"content", content}});
  }
  // An answer whose template accepts thinking apart from it.
  void answer(const std::string& content, const std::string& thinking) {
    messages_.push_back({{"role", "assistant"}, {"content", content}, {"thinking", thinking}});
  }
  // Adds the user's message, with so many images before it.
  void ask(const std::string& content, size_t images);
  size_t size() const { return messages_.size(); }
  // Removes the messages after the first `size`.
  void take_back(size_t size);
  // Removes the oldest question with what answered it, but not the last question. False: there is none, or images
  // belong to it.
  bool forget_oldest();

  // The conversation as JSON, and the inverse, which throws Error if `json` is no conversation.
  std::string saved() const;
  void restore(const std::string& json);

  // A variable of the template; null removes it.
  void set_variable(const std::string& name, const nlohmann::ordered_json& value);
  const nlohmann::ordered_json& variables() const { return variables_; }
  // The prompt that the template makes of it, up to the beginning of the answer.
  std::string rendered(const TextHandle& text) const;

 private:
  std::string system_;
  nlohmann::ordered_json messages_, variables_ = nlohmann::ordered_json::object();
};

}  // namespace ferry::cli
