// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_JNI_PARCEL_H_
#define FERRY_JNI_PARCEL_H_

#include <ferry/ferry.h>
#include <jni.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ferry::jni {

// Fills an io.ferry.Parcel. Numbers and texts are collected until send(); large data is written at once. A failing
// status comes with a Java exception or the library's error.
class Parcel {
 public:
  Parcel(JNIEnv* env, jobject parcel) : env_(env), parcel_(parcel) {}

  // Looks up the class and its fields; false, with an exception, if one is missing.
  static bool prepare(JNIEnv* env);

  Parcel& number(double value) {
    numbers_.push_back(value);
    return *this;
  }
  Parcel& text(const char* value) {
    texts_.append(value != nullptr ? value : "").push_back('\0');
    return *this;
  }
  Parcel& tensor(const ferry_tensor& tensor);

  ferry_status values(const float* data, size_t count);
  ferry_status classes(const uint16_t* data, size_t count);
  ferry_status bytes(const uint8_t* data, size_t count);
  // Copies an image's rows without the gaps between them.
  ferry_status pixels(const uint8_t* data, int32_t width, int32_t height, int32_t stride);
  ferry_status send();

 private:
  ferry_status keep(jfieldID field, jarray array);

  JNIEnv* env_;
  jobject parcel_;
  std::vector<jdouble> numbers_;
  std::string texts_;
};

}  // namespace ferry::jni

#endif  // FERRY_JNI_PARCEL_H_
