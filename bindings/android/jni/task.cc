// SPDX-License-Identifier: Apache-2.0
#include <ferry/task.h>

#include "arguments.h"
#include "methods.h"
#include "parcel.h"

namespace ferry::jni {
namespace {

jint open_task(JNIEnv* env, jclass, jlong model, jintArray numbers, jlongArray longs, jbyteArray texts,
               jlongArray handle) {
  return open_with_options(env, model, numbers, longs, texts, handle, ferry_task_open, ferry_task_close);
}

void close_task(JNIEnv*, jclass, jlong task) { ferry_task_close(pointer<ferry_task>(task)); }

void cancel_task(JNIEnv*, jclass, jlong task) { ferry_task_cancel(pointer<ferry_task>(task)); }

jlong task_session(JNIEnv*, jclass, jlong task) {
  return static_cast<jlong>(reinterpret_cast<intptr_t>(ferry_task_session(pointer<ferry_task>(task))));
}

void add_classes(const ferry_answer& answer, Parcel* parcel) {
  parcel->number(static_cast<double>(answer.class_count));
  for (size_t i = 0; i < answer.class_count; ++i) {
    const ferry_class& c = answer.classes[i];
    parcel->number(c.index).number(double{c.probability}).text(c.label);
  }
}

void add_detections(const ferry_answer& answer, Parcel* parcel) {
  parcel->number(static_cast<double>(answer.box_count));
  for (size_t i = 0; i < answer.box_count; ++i) {
    const ferry_detection& d = answer.boxes[i];
    for (const float side : {d.box.left, d.box.top, d.box.right, d.box.bottom, d.score}) parcel->number(double{side});
    parcel->number(d.index).text(d.label).number(static_cast<double>(d.landmark_count));
    for (size_t k = 0; k < 2 * d.landmark_count; ++k) parcel->number(double{d.landmarks[k]});
    const size_t scores = answer.landmark_scores != nullptr ? d.landmark_count : 0;
    parcel->number(static_cast<double>(scores));
    for (size_t k = 0; k < scores; ++k) parcel->number(double{answer.landmark_scores[i * scores + k]});
  }
  parcel->number(static_cast<double>(answer.landmark_name_count));
  for (size_t i = 0; i < answer.landmark_name_count; ++i) parcel->text(answer.landmark_names[i]);
  parcel->number(static_cast<double>(2 * answer.landmark_line_count));
  for (size_t i = 0; i < 2 * answer.landmark_line_count; ++i) parcel->number(answer.landmark_lines[i]);
}

void add_lines(const ferry_answer& answer, Parcel* parcel) {
  parcel->number(static_cast<double>(answer.line_count));
  for (size_t i = 0; i < answer.line_count; ++i) {
    const ferry_line& line = answer.lines[i];
    parcel->text(line.text).number(double{line.score});
    for (const float corner : line.corners) parcel->number(double{corner});
  }
}

// Values in the order in which the constructors of io.ferry.Answer read them.
ferry_status send(const ferry_answer& a, Parcel parcel) {
  const size_t size = static_cast<size_t>(a.width) * static_cast<size_t>(a.height);
  ferry_status status = FERRY_OK;
  parcel.number(a.kind);
  switch (a.kind) {
    case FERRY_ANSWER_NONE: break;
    case FERRY_ANSWER_CLASSES: add_classes(a, &parcel); break;
    case FERRY_ANSWER_VECTOR: status = parcel.values(a.vector, a.vector_size); break;
    case FERRY_ANSWER_MAP:
      parcel.number(a.width).number(a.height).number(double{a.minimum}).number(double{a.maximum});
      parcel.number(a.sense == FERRY_SENSE_METRES);
      status = parcel.values(a.map, size);
      break;
    case FERRY_ANSWER_LABELS:
      parcel.number(a.width).number(a.height);
      add_classes(a, &parcel);
      status = parcel.classes(a.labels, size);
      break;
    case FERRY_ANSWER_MASK:
      parcel.number(a.width).number(a.height).number(double{a.quality});
      status = parcel.bytes(a.mask, size);
      break;
    case FERRY_ANSWER_IMAGE:
      parcel.number(a.image.width).number(a.image.height);
      status = parcel.pixels(a.image.pixels, a.image.width, a.image.height, a.image.stride);
      break;
    case FERRY_ANSWER_BOXES: add_detections(a, &parcel); break;
    case FERRY_ANSWER_LINES: add_lines(a, &parcel); break;
  }
  return status == FERRY_OK ? parcel.send() : status;
}

// An io.ferry.Request; owns the memory that `value` points to.
struct NativeRequest {
  ferry_request value = {};
  ferry_image image, mask;
  ferry_frame frame;
  ferry_box box;
  std::vector<ferry_point> points;

  ferry_status prompts(JNIEnv* env, jfloatArray array, bool has_box) {
    std::vector<jfloat> p(static_cast<size_t>(env->GetArrayLength(array)));
    env->GetFloatArrayRegion(array, 0, static_cast<jsize>(p.size()), p.data());
    if (env->ExceptionCheck()) return FERRY_INVALID_ARGUMENT;
    size_t at = 0;
    if (has_box && p.size() >= 4) {
      box = {p[0], p[1], p[2], p[3]};
      value.box = &box;
      at = 4;
    }
    for (; at + 3 <= p.size(); at += 3) points.push_back({p[at], p[at + 1], p[at + 2] != 0});
    value.points = points.data();
    value.point_count = points.size();
    return FERRY_OK;
  }
};

jmethodID on_progress;  // of io.ferry.Progress

// Receives a run's progress, in the thread of the run, which is a Java thread.
struct Listener {
  JNIEnv* env;
  jobject progress;
  ferry_task* task;
};

void tell(void* user, int32_t done, int32_t total) {
  const Listener& l = *static_cast<const Listener*>(user);
  if (l.env->ExceptionCheck()) return;  // already ending because of this exception
  l.env->CallVoidMethod(l.progress, on_progress, done, total);
  if (l.env->ExceptionCheck()) ferry_task_cancel(l.task);
}

jint run_task(JNIEnv* env, jclass, jlong task, jintArray numbers, jfloatArray prompts, jobject pixels, jobject mask,
              jintArray frame, jobject first, jobject second, jobject third, jobject progress, jobject out) {
  return attempt([&] {
    jint n[9];
    NativeRequest request;
    ferry_status status = numbers_of(env, numbers, n, 9);
    if (status == FERRY_OK) status = request.prompts(env, prompts, n[4] != 0);
    if (status == FERRY_OK && pixels != nullptr) {
      status = image_of(env, n[5], n[6], pixels, &request.image);
      request.value.image = &request.image;
    }
    if (status == FERRY_OK && mask != nullptr) {
      status = image_of(env, n[7], n[8], mask, &request.mask);
      request.value.mask = &request.mask;
    }
    if (status == FERRY_OK && frame != nullptr) {
      status = frame_of(env, frame, first, second, third, &request.frame);
      request.value.frame = &request.frame;
    }
    if (status != FERRY_OK) return status;
    request.value.struct_size = sizeof(request.value);
    request.value.top = n[0];
    request.value.tile = n[1];
    request.value.mask_index = n[2];
    request.value.refine = n[3] != 0;
    Listener listener = {env, progress, pointer<ferry_task>(task)};
    if (progress != nullptr) {
      request.value.progress = tell;
      request.value.user = &listener;
    }
    ferry_answer answer = {};
    answer.struct_size = sizeof(answer);
    status = ferry_task_run(listener.task, &request.value, &answer);
    if (env->ExceptionCheck()) return FERRY_CANCELLED;  // by an exception of the listener, which Java throws
    return status == FERRY_OK ? send(answer, Parcel(env, out)) : status;
  });
}

}  // namespace

bool prepare_tasks(JNIEnv* env) {
  jclass progress = env->FindClass("io/ferry/Progress");
  if (progress == nullptr) return false;
  on_progress = env->GetMethodID(progress, "onProgress", "(II)V");
  env->DeleteLocalRef(progress);
  return on_progress != nullptr;
}

std::span<const JNINativeMethod> task_methods() {
  static const JNINativeMethod methods[] = {
      method("openTask", "(J[I[J[B[J)I", open_task),
      method("closeTask", "(J)V", close_task),
      method("cancelTask", "(J)V", cancel_task),
      method("taskSession", "(J)J", task_session),
      method("runTask",
             "(J[I[FLjava/nio/ByteBuffer;Ljava/nio/ByteBuffer;[ILjava/nio/ByteBuffer;Ljava/nio/ByteBuffer;"
             "Ljava/nio/ByteBuffer;Lio/ferry/Progress;Lio/ferry/Parcel;)I",
             run_task),
  };
  return methods;
}

}  // namespace ferry::jni
