// What an app does with a model.
#pragma once

#include <ferry/ferry.h>

#include "tests/fuzz/harness.h"

namespace ferry::fuzz {

// Every name and description of it.
void describe_model(ferry_model* model);

// One thread, and memory for small networks only.
ferry_session_options small_options();

// A session: resized, run, its images, its texts, its states, and read to the last byte.
void use_model(ferry_model* model);

// Cancels what runs for too long, while it lives: an input that is merely slow is none to be kept. Watches one session
// at a time, on a thread that all of them share.
class Deadline {
 public:
  explicit Deadline(ferry_session* session = nullptr);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
};

}  // namespace ferry::fuzz
