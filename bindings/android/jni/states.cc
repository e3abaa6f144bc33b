// SPDX-License-Identifier: Apache-2.0
#include <ferry/ferry.h>

#include "arguments.h"
#include "methods.h"
#include "parcel.h"

namespace ferry::jni {
namespace {

ferry_status give_states(JNIEnv* env, ferry_status status, ferry_states* states, jlongArray handle) {
  if (status == FERRY_OK) status = give(env, handle, states);
  if (status != FERRY_OK) ferry_states_close(states);
  return status;
}

jint create_states(JNIEnv* env, jclass, jlong model, jlongArray handle) {
  ferry_states* states = nullptr;
  const ferry_status status = ferry_states_create(pointer<ferry_model>(model), &states);
  return give_states(env, status, states, handle);
}

jint session_states(JNIEnv* env, jclass, jlong session, jlongArray handle) {
  ferry_states* states = nullptr;
  const ferry_status status = ferry_session_states(pointer<ferry_session>(session), &states);
  return give_states(env, status, states, handle);
}

void close_states(JNIEnv*, jclass, jlong states) { ferry_states_close(pointer<ferry_states>(states)); }

jint describe_states(JNIEnv* env, jclass, jlong handle, jobject out) {
  return attempt([&] {
    const auto* states = pointer<ferry_states>(handle);
    Parcel parcel(env, out);
    parcel.number(ferry_states_length(states)).number(ferry_states_bound(states));
    parcel.number(static_cast<double>(ferry_states_bytes(states)));
    const size_t count = ferry_states_count(states);
    parcel.number(static_cast<double>(count));
    for (size_t i = 0; i < count; ++i) {
      ferry_tensor tensor;
      if (ferry_status status = ferry_states_describe(states, i, &tensor); status != FERRY_OK) return status;
      parcel.tensor(tensor);
    }
    return parcel.send();
  });
}

jint read_state(JNIEnv* env, jclass, jlong states, jint index, jobject to) {
  ferry_tensor tensor;
  const ferry_status status = ferry_states_describe(pointer<ferry_states>(states), static_cast<size_t>(index), &tensor);
  return status == FERRY_OK ? copy_to(env, "state", tensor, to) : status;
}

jint reserve_states(JNIEnv*, jclass, jlong states, jint length) {
  return ferry_states_reserve(pointer<ferry_states>(states), length);
}

jint truncate_states(JNIEnv*, jclass, jlong states, jint length) {
  return ferry_states_truncate(pointer<ferry_states>(states), length);
}

jint save_states(JNIEnv* env, jclass, jlong states, jbyteArray path) {
  return attempt([&] {
    Texts texts;
    const ferry_status status = texts.read(env, path);
    return status == FERRY_OK ? ferry_states_save(pointer<ferry_states>(states), texts.next()) : status;
  });
}

jint load_states(JNIEnv* env, jclass, jlong states, jbyteArray path) {
  return attempt([&] {
    Texts texts;
    const ferry_status status = texts.read(env, path);
    return status == FERRY_OK ? ferry_states_load(pointer<ferry_states>(states), texts.next()) : status;
  });
}

}  // namespace

std::span<const JNINativeMethod> states_methods() {
  static const JNINativeMethod methods[] = {
      method("createStates", "(J[J)I", create_states),
      method("sessionStates", "(J[J)I", session_states),
      method("closeStates", "(J)V", close_states),
      method("describeStates", "(JLio/ferry/Parcel;)I", describe_states),
      method("readState", "(JILjava/nio/ByteBuffer;)I", read_state),
      method("reserveStates", "(JI)I", reserve_states),
      method("truncateStates", "(JI)I", truncate_states),
      method("saveStates", "(J[B)I", save_states),
      method("loadStates", "(J[B)I", load_states),
  };
  return methods;
}

}  // namespace ferry::jni
