// SPDX-License-Identifier: Apache-2.0
#include <ferry/task.h>

#include "arguments.h"
#include "methods.h"
#include "parcel.h"

namespace ferry::jni {
namespace {

// Passes a model to Java; closes it on failure.
ferry_status give_model(JNIEnv* env, ferry_status status, ferry_model* model, jlongArray handle) {
  if (status == FERRY_OK) status = give(env, handle, model);
  if (status != FERRY_OK) ferry_model_close(model);
  return status;
}

jint open_path(JNIEnv* env, jclass, jbyteArray path, jlongArray handle) {
  return attempt([&] {
    Texts texts;
    if (ferry_status status = texts.read(env, path); status != FERRY_OK) return status;
    ferry_model* model = nullptr;
    const ferry_status status = ferry_model_open(texts.next(), &model);
    return give_model(env, status, model, handle);
  });
}

jint open_descriptor(JNIEnv* env, jclass, jint descriptor, jlong offset, jlong length, jlongArray handle) {
  if (offset < 0 || length < 0) {
    return ferry_set_last_error(FERRY_INVALID_ARGUMENT, "a blob's offset and length are 0 or more");
  }
  ferry_model* model = nullptr;
  const ferry_status status =
      ferry_model_open_fd(descriptor, static_cast<uint64_t>(offset), static_cast<uint64_t>(length), &model);
  return give_model(env, status, model, handle);
}

jint open_memory(JNIEnv* env, jclass, jobject blob, jlongArray handle) {
  Memory memory;
  if (ferry_status status = memory_of(env, blob, &memory); status != FERRY_OK) return status;
  ferry_model* model = nullptr;
  const ferry_status status = ferry_model_open_memory(memory.data, memory.size, &model);
  return give_model(env, status, model, handle);
}

jint open_graph(JNIEnv* env, jclass, jlong model, jbyteArray name, jlongArray handle) {
  return attempt([&] {
    Texts texts;
    if (ferry_status status = texts.read(env, name); status != FERRY_OK) return status;
    ferry_model* graph = nullptr;
    const ferry_status status = ferry_model_open_graph(pointer<ferry_model>(model), texts.next(), &graph);
    return give_model(env, status, graph, handle);
  });
}

void close_model(JNIEnv*, jclass, jlong model) { ferry_model_close(pointer<ferry_model>(model)); }

jint describe_model(JNIEnv* env, jclass, jlong handle, jobject out) {
  return attempt([&] {
    const auto* model = pointer<ferry_model>(handle);
    ferry_task_info task = {};
    task.struct_size = sizeof(task);
    if (ferry_status status = ferry_model_task(model, &task); status != FERRY_OK) return status;
    Parcel parcel(env, out);
    parcel.text(ferry_model_name(model)).text(task.name);
    const size_t graphs = ferry_model_graph_count(model), labels = ferry_model_label_count(model);
    parcel.number(static_cast<double>(graphs));
    for (size_t i = 0; i < graphs; ++i) parcel.text(ferry_model_graph_name(model, i));
    parcel.number(static_cast<double>(labels));
    for (size_t i = 0; i < labels; ++i) parcel.text(ferry_model_label(model, i));
    parcel.number(static_cast<double>(ferry_model_input_count(model)));
    parcel.number(static_cast<double>(ferry_model_output_count(model)));
    return parcel.send();
  });
}

jint model_tensors(JNIEnv* env, jclass, jlong handle, jint kind, jobject out) {
  return attempt([&] {
    constexpr decltype(&ferry_model_input_count) kCounts[] = {ferry_model_input_count, ferry_model_output_count,
                                                              ferry_model_tap_count};
    constexpr decltype(&ferry_model_input) kTensors[] = {ferry_model_input, ferry_model_output, ferry_model_tap};
    const auto* model = pointer<ferry_model>(handle);
    const size_t count = kCounts[kind](model);
    Parcel parcel(env, out);
    parcel.number(static_cast<double>(count));
    for (size_t i = 0; i < count; ++i) {
      ferry_tensor tensor;
      if (ferry_status status = kTensors[kind](model, i, &tensor); status != FERRY_OK) return status;
      parcel.tensor(tensor);
    }
    return parcel.send();
  });
}

jint check_model(JNIEnv*, jclass, jlong model) { return ferry_model_check(pointer<ferry_model>(model)); }

jint finish_check(JNIEnv*, jclass, jlong model) { return ferry_model_finish_check(pointer<ferry_model>(model)); }

jint verify(JNIEnv* env, jclass, jlong model, jintArray numbers, jlongArray longs, jbyteArray texts, jobject out) {
  return attempt([&] {
    Options options;
    if (ferry_status status = options.read(env, numbers, longs, texts); status != FERRY_OK) return status;
    ferry_verification v = {};
    v.struct_size = sizeof(v);
    ferry_status status = ferry_model_verify(pointer<ferry_model>(model), &options.value, &v);
    if (status != FERRY_OK) return status;
    Parcel parcel(env, out);
    parcel.number(v.passed).number(static_cast<double>(v.stage_count)).number(v.error).number(v.bound);
    parcel.number(v.error_at_conversion).text(v.stage).text(v.fixture).text(v.library).text(v.graph);
    return parcel.send();
  });
}

}  // namespace

std::span<const JNINativeMethod> model_methods() {
  static const JNINativeMethod methods[] = {
      method("openPath", "([B[J)I", open_path),
      method("openDescriptor", "(IJJ[J)I", open_descriptor),
      method("openMemory", "(Ljava/nio/ByteBuffer;[J)I", open_memory),
      method("openGraph", "(J[B[J)I", open_graph),
      method("closeModel", "(J)V", close_model),
      method("describeModel", "(JLio/ferry/Parcel;)I", describe_model),
      method("modelTensors", "(JILio/ferry/Parcel;)I", model_tensors),
      method("checkModel", "(J)I", check_model),
      method("finishCheck", "(J)I", finish_check),
      method("verify", "(J[I[J[BLio/ferry/Parcel;)I", verify),
  };
  return methods;
}

}  // namespace ferry::jni
