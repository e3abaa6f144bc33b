// What /set changes during a conversation: sampling and variables of the chat template.
#pragma once

#include <string>
#include <vector>

#include "cli/chat/conversation.h"
#include "cli/generation.h"

namespace ferry::cli {

class Settings {
 public:
  // `names`: those that the chat template knows. All must outlive the settings.
  Settings(SamplingOptions* sampling, int* max_tokens, Conversation* conversation, const GeneratorHandle& generator,
           std::vector<std::string> names)
      : sampling_(*sampling),
        max_tokens_(*max_tokens),
        conversation_(*conversation),
        generator_(generator),
        names_(std::move(names)) {}

  // `words`: "temperature 0.2", "enable_thinking false" or "top_k default". Applies to the next answer. Throws Error on
  // names that neither sampling nor the template knows, and on values out of range; then nothing changes.
  void set(const std::string& words);
  // What was set, one a line, with the names that can be set.
  std::string text() const;

 private:
  bool set_sampling_field(const std::string& name, const std::string& value, SamplingOptions* sampling) const;

  SamplingOptions& sampling_;
  int& max_tokens_;
  Conversation& conversation_;
  const GeneratorHandle& generator_;
  std::vector<std::string> names_;
};

// The names that a chat template reads or sets. Throws Error if it does not parse.
std::vector<std::string> template_names(const ModelHandle& model);

}  // namespace ferry::cli
