// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_JNI_ARGUMENTS_H_
#define FERRY_JNI_ARGUMENTS_H_

#include <ferry/image.h>
#include <jni.h>

#include <new>
#include <string>
#include <vector>

// Conversion of Java arguments for the C API. Functions that return a failing status have set the library's error, or
// left a Java exception.
namespace ferry::jni {

// A pointer of the C API, which Java stores as a long.
template <typename T>
T* pointer(jlong handle) {
  return reinterpret_cast<T*>(static_cast<intptr_t>(handle));
}

// Runs code that allocates through the standard library: C++ exceptions must not reach Java.
template <typename Function>
jint attempt(Function&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return ferry_set_last_error(FERRY_OUT_OF_MEMORY, "out of memory");
  }
}

// Writes an opened handle to the first element of `handle`.
ferry_status give(JNIEnv* env, jlongArray handle, const void* opened);

// The whole memory of a direct buffer; empty for null.
struct Memory {
  uint8_t* data = nullptr;
  size_t size = 0;
};
ferry_status memory_of(JNIEnv* env, jobject buffer, Memory* out);

// Concatenated texts, each with a NUL.
class Texts {
 public:
  ferry_status read(JNIEnv* env, jbyteArray texts);
  bool ended() const { return next_ >= all_.size(); }
  // All texts as one string, which may contain NUL.
  const char* data() const { return all_.data(); }
  size_t size() const { return all_.size(); }
  const char* next();
  const char* next_or_null();  // null for ""

 private:
  std::string all_;
  size_t next_ = 0;
};

// Exactly `count` numbers; leaves a Java exception if there are fewer.
ferry_status numbers_of(JNIEnv* env, jintArray array, jint* numbers, jsize count);

// Copies a tensor's elements to a direct buffer, which has enough room.
ferry_status copy_to(JNIEnv* env, const char* what, const ferry_tensor& tensor, jobject to);
ferry_status wrong_size(const char* what, const ferry_tensor& tensor, size_t given);

// An io.ferry.SessionOptions; owns the memory that `value` points to.
struct Options {
  ferry_session_options value;
  Texts texts;
  std::vector<const char*> taps;
  std::vector<jlong> longs;

  ferry_status read(JNIEnv* env, jintArray numbers, jlongArray all_longs, jbyteArray all_texts);
};

// Opens a session or a task of the model with `open` and the options; calls `close` if Java cannot receive it.
template <typename T>
jint open_with_options(JNIEnv* env, jlong model, jintArray numbers, jlongArray longs, jbyteArray texts,
                       jlongArray handle, ferry_status (*open)(ferry_model*, const ferry_session_options*, T**),
                       void (*close)(T*)) {
  return attempt([&] {
    Options options;
    if (ferry_status status = options.read(env, numbers, longs, texts); status != FERRY_OK) return status;
    T* opened = nullptr;
    ferry_status status = open(pointer<ferry_model>(model), &options.value, &opened);
    if (status == FERRY_OK) status = give(env, handle, opened);
    if (status != FERRY_OK) close(opened);
    return status;
  });
}

// io.ferry.Frame.
ferry_status frame_of(JNIEnv* env, jintArray numbers, jobject first, jobject second, jobject third, ferry_frame* out);

// An io.ferry.Image, which must have all its rows.
ferry_status image_of(JNIEnv* env, jint width, jint height, jobject pixels, ferry_image* out);

}  // namespace ferry::jni

#endif  // FERRY_JNI_ARGUMENTS_H_
