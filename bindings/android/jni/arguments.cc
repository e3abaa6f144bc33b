// SPDX-License-Identifier: Apache-2.0
#include "arguments.h"

#include <cstdio>
#include <cstring>

namespace ferry::jni {

ferry_status give(JNIEnv* env, jlongArray handle, const void* opened) {
  const jlong value = static_cast<jlong>(reinterpret_cast<intptr_t>(opened));
  env->SetLongArrayRegion(handle, 0, 1, &value);
  return env->ExceptionCheck() ? FERRY_INVALID_ARGUMENT : FERRY_OK;
}

ferry_status memory_of(JNIEnv* env, jobject buffer, Memory* out) {
  *out = {};
  if (buffer == nullptr) return FERRY_OK;
  void* data = env->GetDirectBufferAddress(buffer);
  const jlong size = env->GetDirectBufferCapacity(buffer);
  if (size < 0 || (data == nullptr && size > 0)) {
    return ferry_set_last_error(FERRY_INVALID_ARGUMENT, "a buffer is not direct: ByteBuffer.allocateDirect()");
  }
  *out = {static_cast<uint8_t*>(data), static_cast<size_t>(size)};
  return FERRY_OK;
}

ferry_status Texts::read(JNIEnv* env, jbyteArray texts) {
  const jsize length = env->GetArrayLength(texts);
  all_.resize(static_cast<size_t>(length));
  env->GetByteArrayRegion(texts, 0, length, reinterpret_cast<jbyte*>(all_.data()));
  return env->ExceptionCheck() ? FERRY_INVALID_ARGUMENT : FERRY_OK;
}

const char* Texts::next() {
  const char* text = all_.c_str() + (ended() ? all_.size() : next_);
  next_ = all_.find('\0', next_) + 1;
  return text;
}

const char* Texts::next_or_null() {
  const char* text = next();
  return *text != '\0' ? text : nullptr;
}

ferry_status numbers_of(JNIEnv* env, jintArray array, jint* numbers, jsize count) {
  env->GetIntArrayRegion(array, 0, count, numbers);
  return env->ExceptionCheck() ? FERRY_INVALID_ARGUMENT : FERRY_OK;
}

ferry_status wrong_size(const char* what, const ferry_tensor& tensor, size_t given) {
  char sentence[256];
  std::snprintf(sentence, sizeof(sentence), "%s '%.100s' is %zu bytes, the buffer has %zu", what, tensor.name,
                tensor.bytes, given);
  return ferry_set_last_error(FERRY_INVALID_ARGUMENT, sentence);
}

ferry_status copy_to(JNIEnv* env, const char* what, const ferry_tensor& tensor, jobject to) {
  Memory memory;
  if (ferry_status status = memory_of(env, to, &memory); status != FERRY_OK) return status;
  if (memory.size < tensor.bytes) return wrong_size(what, tensor, memory.size);
  if (tensor.bytes > 0) std::memcpy(memory.data, tensor.data, tensor.bytes);
  return FERRY_OK;
}

ferry_status Options::read(JNIEnv* env, jintArray numbers, jlongArray all_longs, jbyteArray all_texts) {
  constexpr ferry_dtype kStateTypes[] = {FERRY_FLOAT32, FERRY_FLOAT16, FERRY_INT8};  // as SessionOptions.StateType
  jint n[9];
  if (ferry_status status = numbers_of(env, numbers, n, 9); status != FERRY_OK) return status;
  if (ferry_status status = texts.read(env, all_texts); status != FERRY_OK) return status;
  ferry_session_options_init(&value);
  value.num_threads = n[0];
  value.backend = n[1];
  value.precision = n[2];
  value.cores = n[3];
  value.gpu_required = n[4] != 0;
  value.all_taps = n[5] != 0;
  value.profile = n[6] != 0;
  value.skip_weight_check = n[7] != 0;
  value.state_dtype = kStateTypes[n[8]];
  constexpr size_t kMask = 3;  // index of the mask
  longs.resize(static_cast<size_t>(env->GetArrayLength(all_longs)));
  env->GetLongArrayRegion(all_longs, 0, static_cast<jsize>(longs.size()), longs.data());
  if (env->ExceptionCheck() || longs.size() < kMask) return FERRY_INVALID_ARGUMENT;
  value.memory_limit = static_cast<uint64_t>(longs[0]);
  value.states = pointer<ferry_states>(longs[1]);
  std::memcpy(&value.gpu_watch, &longs[2], sizeof value.gpu_watch);
  value.cpu_mask_words = longs.size() - kMask;
  if (value.cpu_mask_words > 0) value.cpu_mask = reinterpret_cast<const uint64_t*>(&longs[kMask]);
  value.gpu_device = texts.next_or_null();
  value.gpu_cache_dir = texts.next_or_null();
  value.cache_dir = texts.next_or_null();
  while (!texts.ended()) taps.push_back(texts.next());
  value.taps = taps.data();
  value.tap_count = taps.size();
  return FERRY_OK;
}

ferry_status frame_of(JNIEnv* env, jintArray numbers, jobject first, jobject second, jobject third, ferry_frame* out) {
  constexpr int kPlanes = 3;
  jint n[11 + 2 * kPlanes];
  if (ferry_status status = numbers_of(env, numbers, n, 11 + 2 * kPlanes); status != FERRY_OK) return status;
  *out = {};
  out->struct_size = sizeof(*out);
  out->format = static_cast<ferry_frame_format>(n[0]);
  out->width = n[1];
  out->height = n[2];
  out->rotation = n[3];
  out->mirror = n[4] != 0;
  out->range = static_cast<ferry_yuv_range>(n[5]);
  out->matrix = static_cast<ferry_yuv_matrix>(n[6]);
  out->crop_left = n[7];
  out->crop_top = n[8];
  out->crop_width = n[9];
  out->crop_height = n[10];
  const jobject buffers[kPlanes] = {first, second, third};
  for (int i = 0; i < kPlanes; ++i) {
    Memory memory;
    if (ferry_status status = memory_of(env, buffers[i], &memory); status != FERRY_OK) return status;
    out->planes[i] = {memory.data, memory.size, n[11 + i], n[11 + kPlanes + i]};
  }
  return FERRY_OK;
}

ferry_status image_of(JNIEnv* env, jint width, jint height, jobject pixels, ferry_image* out) {
  Memory memory;
  if (ferry_status status = memory_of(env, pixels, &memory); status != FERRY_OK) return status;
  // io.ferry.Image has checked this.
  if (width <= 0 || height <= 0 || memory.size / 3 / static_cast<size_t>(width) < static_cast<size_t>(height)) {
    return ferry_set_last_error(FERRY_INVALID_ARGUMENT, "an image's buffer is smaller than its sides say");
  }
  *out = {memory.data, width, height, 3 * width, false};
  return FERRY_OK;
}

}  // namespace ferry::jni
