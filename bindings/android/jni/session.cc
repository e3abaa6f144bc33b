// SPDX-License-Identifier: Apache-2.0
#include <ferry/image.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "arguments.h"
#include "methods.h"
#include "parcel.h"

namespace ferry::jni {
namespace {

jint open_session(JNIEnv* env, jclass, jlong model, jintArray numbers, jlongArray longs, jbyteArray texts,
                  jlongArray handle) {
  return open_with_options(env, model, numbers, longs, texts, handle, ferry_session_create, ferry_session_close);
}

void close_session(JNIEnv*, jclass, jlong session) { ferry_session_close(pointer<ferry_session>(session)); }

void cancel_session(JNIEnv*, jclass, jlong session) { ferry_session_cancel(pointer<ferry_session>(session)); }

jint session_tensors(JNIEnv* env, jclass, jlong session, jint kind, jint count, jobject out) {
  return attempt([&] {
    const auto tensor_of = kind == 0 ? ferry_session_input : ferry_session_output;
    Parcel parcel(env, out);
    parcel.number(count);
    for (jint i = 0; i < count; ++i) {
      ferry_tensor tensor;
      ferry_status status = tensor_of(pointer<ferry_session>(session), static_cast<size_t>(i), &tensor);
      if (status != FERRY_OK) return status;
      parcel.tensor(tensor);
    }
    return parcel.send();
  });
}

jint resize(JNIEnv* env, jclass, jlong session, jintArray shapes, jint inputs) {
  return attempt([&] {
    std::vector<jint> sides(static_cast<size_t>(env->GetArrayLength(shapes)));
    ferry_status status = numbers_of(env, shapes, sides.data(), static_cast<jsize>(sides.size()));
    if (status != FERRY_OK) return status;
    std::vector<ferry_tensor> tensors(static_cast<size_t>(inputs));
    const jint* next = sides.data();
    for (ferry_tensor& tensor : tensors) {
      tensor.rank = *next++;
      if (tensor.rank > FERRY_MAX_RANK) {
        return ferry_set_last_error(FERRY_INVALID_ARGUMENT, "a shape has at most 6 dimensions");
      }
      std::memcpy(tensor.shape, next, static_cast<size_t>(tensor.rank) * sizeof(jint));
      next += tensor.rank;
    }
    return ferry_session_resize_inputs(pointer<ferry_session>(session), tensors.data(), tensors.size());
  });
}

// The library checks the range.
size_t index_of(jint index) { return index < 0 ? SIZE_MAX : static_cast<size_t>(index); }

jint write_input(JNIEnv* env, jclass, jlong session, jint index, jobject from) {
  Memory memory;
  ferry_tensor tensor;
  if (ferry_status status = memory_of(env, from, &memory); status != FERRY_OK) return status;
  ferry_status status = ferry_session_input(pointer<ferry_session>(session), index_of(index), &tensor);
  if (status != FERRY_OK) return status;
  if (memory.size != tensor.bytes) return wrong_size("input", tensor, memory.size);
  if (tensor.bytes > 0) std::memcpy(tensor.data, memory.data, tensor.bytes);
  return FERRY_OK;
}

jint read_output(JNIEnv* env, jclass, jlong session, jint index, jobject to) {
  ferry_tensor tensor;
  ferry_status status = ferry_session_output(pointer<ferry_session>(session), index_of(index), &tensor);
  return status == FERRY_OK ? copy_to(env, "output", tensor, to) : status;
}

ferry_status tap_of(JNIEnv* env, jlong session, jbyteArray name, ferry_tensor* tensor) {
  Texts texts;
  if (ferry_status status = texts.read(env, name); status != FERRY_OK) return status;
  return ferry_session_tap(pointer<ferry_session>(session), texts.next(), tensor);
}

jint tap(JNIEnv* env, jclass, jlong session, jbyteArray name, jobject out) {
  return attempt([&] {
    ferry_tensor tensor;
    ferry_status status = tap_of(env, session, name, &tensor);
    return status == FERRY_OK ? Parcel(env, out).tensor(tensor).send() : status;
  });
}

jint read_tap(JNIEnv* env, jclass, jlong session, jbyteArray name, jobject to) {
  return attempt([&] {
    ferry_tensor tensor;
    ferry_status status = tap_of(env, session, name, &tensor);
    return status == FERRY_OK ? copy_to(env, "tap", tensor, to) : status;
  });
}

jint set_frame(JNIEnv* env, jclass, jlong session, jintArray numbers, jobject first, jobject second, jobject third) {
  ferry_frame frame;
  ferry_status status = frame_of(env, numbers, first, second, third, &frame);
  return status == FERRY_OK ? ferry_session_set_frame(pointer<ferry_session>(session), &frame) : status;
}

jint set_image(JNIEnv* env, jclass, jlong handle, jint index, jint width, jint height, jobject pixels) {
  ferry_image image;
  if (ferry_status status = image_of(env, width, height, pixels, &image); status != FERRY_OK) return status;
  auto* session = pointer<ferry_session>(handle);
  return index < 0 ? ferry_session_set_image(session, &image)
                   : ferry_session_set_image_at(session, index_of(index), &image);
}

jint run(JNIEnv*, jclass, jlong session) { return ferry_session_run(pointer<ferry_session>(session)); }

jint top_classes(JNIEnv* env, jclass, jlong session, jint index, jint count, jobject out) {
  return attempt([&] {
    if (count < 1) return ferry_set_last_error(FERRY_INVALID_ARGUMENT, "the number of classes is 1 or more");
    // A network has at most as many classes as its output has elements.
    ferry_tensor output;
    ferry_status status = ferry_session_output(pointer<ferry_session>(session), 0, &output);
    if (status != FERRY_OK) return status;
    size_t found = std::min(static_cast<size_t>(count), std::max<size_t>(output.bytes / sizeof(float), 1));
    std::vector<ferry_class> classes(found);
    auto* of = pointer<ferry_session>(session);
    status = index < 0 ? ferry_session_top_classes(of, classes.data(), &found)
                       : ferry_session_top_classes_at(of, index_of(index), classes.data(), &found);
    if (status != FERRY_OK) return status;
    Parcel parcel(env, out);
    parcel.number(static_cast<double>(found));
    for (size_t i = 0; i < found; ++i) {
      parcel.number(classes[i].index).number(double{classes[i].probability}).text(classes[i].label);
    }
    return parcel.send();
  });
}

jint embedding(JNIEnv* env, jclass, jlong handle, jint index, jobject out) {
  return attempt([&] {
    auto* session = pointer<ferry_session>(handle);
    size_t count = 0;
    ferry_status status = ferry_session_embedding_at(session, index_of(index), nullptr, &count);
    if (status != FERRY_OK) return status;
    std::vector<float> values(count);
    status = ferry_session_embedding_at(session, index_of(index), values.data(), &count);
    if (status != FERRY_OK) return status;
    Parcel parcel(env, out);
    status = parcel.values(values.data(), count);
    return status == FERRY_OK ? parcel.send() : status;
  });
}

jint profile(JNIEnv* env, jclass, jlong handle, jobject out) {
  return attempt([&] {
    const auto* session = pointer<ferry_session>(handle);
    const size_t count = ferry_session_profile_count(session);
    Parcel parcel(env, out);
    parcel.number(static_cast<double>(count));
    for (size_t i = 0; i < count; ++i) {
      ferry_profile_entry entry;
      if (ferry_status status = ferry_session_profile(session, i, &entry); status != FERRY_OK) return status;
      parcel.text(entry.name).text(entry.op).text(entry.backend).number(entry.microseconds).number(entry.rank);
      for (int32_t d = 0; d < entry.rank; ++d) parcel.number(entry.shape[d]);
    }
    return parcel.send();
  });
}

jint report(JNIEnv* env, jclass, jlong handle, jobject out) {
  return attempt([&] {
    auto* session = pointer<ferry_session>(handle);
    ferry_report r = {};
    r.struct_size = sizeof(r);
    if (ferry_status status = ferry_session_report(session, &r); status != FERRY_OK) return status;
    Parcel parcel(env, out);
    parcel.number(r.backend).number(r.precision).number(static_cast<double>(r.threads));
    parcel.number(static_cast<double>(r.gpu_operators)).number(static_cast<double>(r.cpu_operators));
    parcel.number(static_cast<double>(ferry_session_arena_bytes(session)));
    parcel.number(static_cast<double>(ferry_session_packed_bytes(session)));
    parcel.number(static_cast<double>(r.watched_runs));
    parcel.text(r.message).text(r.device).text(r.driver).text(r.cpus).number(static_cast<double>(r.note_count));
    for (size_t i = 0; i < r.note_count; ++i) parcel.text(ferry_session_report_note(session, i));
    return parcel.send();
  });
}

}  // namespace

std::span<const JNINativeMethod> session_methods() {
  static const JNINativeMethod methods[] = {
      method("openSession", "(J[I[J[B[J)I", open_session),
      method("closeSession", "(J)V", close_session),
      method("cancelSession", "(J)V", cancel_session),
      method("sessionTensors", "(JIILio/ferry/Parcel;)I", session_tensors),
      method("resize", "(J[II)I", resize),
      method("writeInput", "(JILjava/nio/ByteBuffer;)I", write_input),
      method("readOutput", "(JILjava/nio/ByteBuffer;)I", read_output),
      method("tap", "(J[BLio/ferry/Parcel;)I", tap),
      method("readTap", "(J[BLjava/nio/ByteBuffer;)I", read_tap),
      method("setFrame", "(J[ILjava/nio/ByteBuffer;Ljava/nio/ByteBuffer;Ljava/nio/ByteBuffer;)I", set_frame),
      method("setImage", "(JIIILjava/nio/ByteBuffer;)I", set_image),
      method("run", "(J)I", run),
      method("topClasses", "(JIILio/ferry/Parcel;)I", top_classes),
      method("embedding", "(JILio/ferry/Parcel;)I", embedding),
      method("profile", "(JLio/ferry/Parcel;)I", profile),
      method("report", "(JLio/ferry/Parcel;)I", report),
  };
  return methods;
}

}  // namespace ferry::jni
