// Separates what a model thinks from what it answers, by the marks that published models write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ferry::cli {

class Thinking {
 public:
  // `prompt`: chat templates may end with the mark that begins thinking.
  explicit Thinking(std::string_view prompt);

  struct Part {
    bool thought;  // thinking or its marks; else the answer
    std::string text;
  };
  // The parts that the next characters complete. Characters that may begin a mark are held back. `control`: the piece
  // is a token that decodes to nothing, written out, such as <|channel|>.
  std::vector<Part> append(std::string_view piece, bool control);
  // The rest, at the end of the text.
  std::vector<Part> finish();

  // Whether the answer has begun or nothing was thought.
  bool thinking() const { return end_ != nullptr; }
  // Whether the marks are tokens that are not part of a text; then templates want thinking and answer apart.
  bool apart() const { return apart_; }
  const std::string& thoughts() const { return thoughts_; }
  const std::string& answer() const { return answer_; }

 private:
  void read(std::vector<Part>* parts, bool ended);
  void emit(std::vector<Part>* parts, bool thought, std::string_view text);

  std::string pending_, thoughts_, answer_;
  const char* end_ = nullptr;  // the mark that ends thinking, while it lasts
  bool begun_ = false;         // the answer has characters other than spaces
  bool apart_ = false;
};

}  // namespace ferry::cli
