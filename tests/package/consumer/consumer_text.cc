#include <ferry/text.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  auto run = [](const char* path) -> ferry::Status {
    ferry::Result<ferry::Model> model = ferry::Model::open(path);
    if (!model) return model.status();
    ferry::Result<ferry::Generator> story = ferry::Generator::create(*model);
    if (!story) return story.status();
    return story->append("Once upon a time");
  };
  const ferry::Status status = run(argc > 1 ? argv[1] : "model.ferry");
  std::printf("ferry %s: %s\n", ferry_version(), status ? "it begins" : status.error().c_str());
  return 0;
}
