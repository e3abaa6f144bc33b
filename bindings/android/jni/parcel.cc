// SPDX-License-Identifier: Apache-2.0
#include "parcel.h"

#include <limits>

namespace ferry::jni {
namespace {

struct Fields {
  jfieldID numbers, values, bytes, classes, texts;
} fields;

ferry_status too_large() {
  return ferry_set_last_error(FERRY_OUT_OF_MEMORY, "the answer is larger than a Java array can be");
}

bool fits(size_t count) { return count <= static_cast<size_t>(std::numeric_limits<jsize>::max()); }

}  // namespace

bool Parcel::prepare(JNIEnv* env) {
  jclass parcel = env->FindClass("io/ferry/Parcel");
  if (parcel == nullptr) return false;
  const auto find = [&](const char* name, const char* type, jfieldID* id) {
    *id = env->GetFieldID(parcel, name, type);
    return *id != nullptr;
  };
  const bool found = find("numbers", "[D", &fields.numbers) && find("values", "[F", &fields.values) &&
                     find("bytes", "[B", &fields.bytes) && find("classes", "[S", &fields.classes) &&
                     find("texts", "[B", &fields.texts);
  env->DeleteLocalRef(parcel);
  return found;
}

Parcel& Parcel::tensor(const ferry_tensor& tensor) {
  text(tensor.name).number(tensor.dtype).number(static_cast<double>(tensor.bytes));
  number(tensor.source_layout == FERRY_LAYOUT_NCHW).number(tensor.rank);
  for (int32_t i = 0; i < tensor.rank; ++i) number(tensor.shape[i]);
  return *this;
}

// Stores a filled array in a field; deletes the local reference.
ferry_status Parcel::keep(jfieldID field, jarray array) {
  if (array == nullptr) return FERRY_OUT_OF_MEMORY;  // a Java exception is pending
  const bool filled = !env_->ExceptionCheck();
  if (filled) env_->SetObjectField(parcel_, field, array);
  env_->DeleteLocalRef(array);
  return filled ? FERRY_OK : FERRY_OUT_OF_MEMORY;
}

ferry_status Parcel::values(const float* data, size_t count) {
  if (!fits(count)) return too_large();
  jfloatArray array = env_->NewFloatArray(static_cast<jsize>(count));
  if (array != nullptr) env_->SetFloatArrayRegion(array, 0, static_cast<jsize>(count), data);
  return keep(fields.values, array);
}

ferry_status Parcel::classes(const uint16_t* data, size_t count) {
  if (!fits(count)) return too_large();
  jshortArray array = env_->NewShortArray(static_cast<jsize>(count));
  if (array != nullptr) {
    env_->SetShortArrayRegion(array, 0, static_cast<jsize>(count), reinterpret_cast<const jshort*>(data));
  }
  return keep(fields.classes, array);
}

ferry_status Parcel::bytes(const uint8_t* data, size_t count) {
  if (!fits(count)) return too_large();
  jbyteArray array = env_->NewByteArray(static_cast<jsize>(count));
  if (array != nullptr) {
    env_->SetByteArrayRegion(array, 0, static_cast<jsize>(count), reinterpret_cast<const jbyte*>(data));
  }
  return keep(fields.bytes, array);
}

ferry_status Parcel::pixels(const uint8_t* data, int32_t width, int32_t height, int32_t stride) {
  const size_t row = size_t{3} * static_cast<size_t>(width);
  if (!fits(row * static_cast<size_t>(height))) return too_large();
  const jsize length = static_cast<jsize>(row);
  jbyteArray array = env_->NewByteArray(length * height);
  for (int32_t y = 0; array != nullptr && y < height && !env_->ExceptionCheck(); ++y) {
    const uint8_t* from = data + static_cast<ptrdiff_t>(y) * stride;
    env_->SetByteArrayRegion(array, length * y, length, reinterpret_cast<const jbyte*>(from));
  }
  return keep(fields.bytes, array);
}

ferry_status Parcel::send() {
  if (!fits(numbers_.size()) || !fits(texts_.size())) return too_large();
  jdoubleArray numbers = env_->NewDoubleArray(static_cast<jsize>(numbers_.size()));
  if (numbers != nullptr) {
    env_->SetDoubleArrayRegion(numbers, 0, static_cast<jsize>(numbers_.size()), numbers_.data());
  }
  if (ferry_status status = keep(fields.numbers, numbers); status != FERRY_OK) return status;
  jbyteArray texts = env_->NewByteArray(static_cast<jsize>(texts_.size()));
  if (texts != nullptr) {
    env_->SetByteArrayRegion(texts, 0, static_cast<jsize>(texts_.size()),
                             reinterpret_cast<const jbyte*>(texts_.data()));
  }
  return keep(fields.texts, texts);
}

}  // namespace ferry::jni
