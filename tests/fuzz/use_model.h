// The operations that an app performs with a model.
#pragma once

#include <ferry/ferry.h>

#include "tests/fuzz/harness.h"

namespace ferry::fuzz {

// Every name and description.
void describe_model(ferry_model* model);

// One thread, and memory for small networks only.
ferry_session_options small_options();

// A session: resized, run, with images, texts and states, and read to the last byte.
void use_model(ferry_model* model);

// While it lives, cancels runs that take too long, because inputs that are merely slow are not findings. Watches one
// session at a time, on a thread shared by all.
class Deadline {
 public:
  explicit Deadline(ferry_session* session = nullptr);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
};

}  // namespace ferry::fuzz
