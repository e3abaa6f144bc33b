// Definitions of the opaque handles of ferry.h.
#pragma once

#include <ferry/ferry.h>

#include <memory>

#include "sdk/api/async.h"
#include "sdk/api/guard.h"
#include "sdk/graph/session.h"
#include "sdk/graph/states.h"
#include "sdk/image/intake.h"
#include "sdk/model/model.h"
#include "sdk/status.h"

struct ferry_model : ferry::Handle {
  explicit ferry_model(std::shared_ptr<const ferry::Model> opened) : model(std::move(opened)) {}
  std::shared_ptr<const ferry::Model> model;
};

struct ferry_session : ferry::Handle {
  // The session, after waiting for its runs.
  ferry::Session& idle() const {
    async.wait_for_run(*session);
    return *session;
  }

  std::unique_ptr<ferry::Session> session;  // keeps its model alive
  mutable ferry::AsyncRuns async;           // declared after `session`, so that it is destroyed first
  ferry::image::Intake intake;              // for images and frames
};

struct ferry_states : ferry::Handle {
  explicit ferry_states(std::shared_ptr<ferry::States> held) : states(std::move(held)) {}
  std::shared_ptr<ferry::States> states;
};

struct ferry_gpu_memory : ferry::Handle {
  explicit ferry_gpu_memory(std::shared_ptr<const ferry::DeviceMemory> imported) : memory(std::move(imported)) {}
  std::shared_ptr<const ferry::DeviceMemory> memory;
};

namespace ferry {

// A port of `model` as a ferry_tensor.
ferry_dtype public_dtype(fbs::DType dtype);
ferry_tensor describe(const Model& model, const fbs::Port& port, const Shape& shape, void* data);

// Reads options of a caller that was built against another version of ferry.h. Fields that an older version lacks get
// their defaults; non-zero fields unknown to this library are refused. `given` may be NULL.
Status read_options(const ferry_session_options* given, ferry_session_options* options);

// ferry_session_create() for use inside the library.
Status create_session(const ferry_model& model, const ferry_session_options* options,
                      std::unique_ptr<ferry_session>* session);

}  // namespace ferry
