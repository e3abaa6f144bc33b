// How the authors of a language model recommend to sample. The expectations are those of transformers' generate().
#include "converter/text/sampling.h"

#include <gtest/gtest.h>

#include "converter/error.h"
#include "tests/support/scratch_folder.h"

namespace ferry {
namespace {

// What a file recommends, as "temperature top_k top_p min_p repetition_penalty", or "nothing"; then the notes.
std::string recommended(const char* generation) {
  const ScratchFolder folder;
  if (generation != nullptr) folder.write("generation_config.json", std::string_view(generation));
  fbs::TextT text;
  std::vector<std::string> notes;
  add_sampling(folder.path(), &text, &notes);
  std::string all = "nothing";
  if (const fbs::SamplingT* s = text.sampling.get()) {
    char numbers[100];
    std::snprintf(numbers, sizeof numbers, "%g %d %g %g %g", static_cast<double>(s->temperature), s->top_k,
                  static_cast<double>(s->top_p), static_cast<double>(s->min_p),
                  static_cast<double>(s->repetition_penalty));
    all = numbers;
  }
  for (const std::string& note : notes) all += "; " + note;
  return all;
}

TEST(RecommendedSampling, IsThatOfGenerate) {
  EXPECT_EQ(recommended(nullptr), "nothing");
  EXPECT_EQ(recommended(R"({"eos_token_id": 1})"), "nothing");
  EXPECT_EQ(recommended(R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95})"), "0.6 20 0.95 0 1");
  EXPECT_EQ(recommended(R"({"do_sample": true})"), "1 50 1 0 1") << "transformers' defaults";
  EXPECT_EQ(recommended(R"({"do_sample": true, "top_k": 0, "top_p": null, "min_p": 0.05})"), "1 0 1 0.05 1");
  EXPECT_EQ(recommended(R"({"do_sample": false, "temperature": 0.6})"), "nothing") << "generate() is greedy";
  EXPECT_EQ(recommended(R"({"repetition_penalty": 1.05, "temperature": 0.6})"), "0 0 1 0 1.05");
  EXPECT_EQ(recommended(R"({"repetition_penalty": 1.0})"), "nothing");
}

TEST(RecommendedSampling, WhatABlobDoesNotHoldIsSaid) {
  EXPECT_EQ(recommended(R"({"min_length": 0, "no_repeat_ngram_size": 3, "num_beams": 4})"),
            "nothing; generation_config.json has no_repeat_ngram_size 3, num_beams 4: a blob does not hold these "
            "settings");
  EXPECT_EQ(recommended(R"({"do_sample": true, "top_p": 1.5})"),
            "nothing; generation_config.json: the recommended sampling is left out: top_p is 1.5, expected above 0, at "
            "most 1");
  EXPECT_EQ(recommended(R"({"do_sample": true, "top_k": 1e10})"),
            "nothing; generation_config.json: the recommended sampling is left out: top_k is -1, expected 0 or more");
}

TEST(RecommendedSampling, OfDamagedFilesIsRefused) {
  for (const char* generation :
       {"{", "[]", R"({"do_sample": true, "temperature": "warm"})", R"({"repetition_penalty": [1]})"})
    EXPECT_THROW(recommended(generation), Error) << generation;
}

}  // namespace
}  // namespace ferry
