// The task of a blob, opened through the C API.
#pragma once

#include <ferry/task.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "tests/support/blobs.h"

namespace ferry::testing {

class OpenTask {
 public:
  explicit OpenTask(std::span<const std::byte> blob) : bytes_(blob) {
    EXPECT_EQ(ferry_model_open_memory(bytes_.data(), bytes_.size(), &model_), FERRY_OK) << ferry_last_error();
    EXPECT_EQ(ferry_task_open(model_, nullptr, &task_), FERRY_OK) << ferry_last_error();
  }
  ~OpenTask() {
    ferry_task_close(task_);
    ferry_model_close(model_);
  }
  OpenTask(const OpenTask&) = delete;
  OpenTask& operator=(const OpenTask&) = delete;

  ferry_answer run(const ferry_request& request) {
    ferry_answer answer{};
    answer.struct_size = sizeof(answer);
    EXPECT_EQ(ferry_task_run(task_, &request, &answer), FERRY_OK) << ferry_last_error();
    return answer;
  }
  ferry_answer run(const ferry_image& image) {
    ferry_request request{};
    request.struct_size = sizeof(request);
    request.image = &image;
    return run(request);
  }

  ferry_model* model() const { return model_; }
  ferry_task* get() const { return task_; }

 private:
  AlignedBytes bytes_;
  ferry_model* model_ = nullptr;
  ferry_task* task_ = nullptr;
};

inline std::vector<std::string> texts(const ferry_answer& answer) {
  std::vector<std::string> out;
  for (size_t i = 0; i < answer.line_count; ++i) out.push_back(answer.lines[i].text);
  return out;
}

}  // namespace ferry::testing
