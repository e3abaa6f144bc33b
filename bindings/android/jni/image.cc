// SPDX-License-Identifier: Apache-2.0
#include <ferry/image.h>

#include "arguments.h"
#include "methods.h"
#include "parcel.h"

namespace ferry::jni {
namespace {

// Copies a decoded image to the parcel and frees it.
ferry_status send(ferry_status status, ferry_image* image, Parcel parcel) {
  if (status == FERRY_OK) status = parcel.pixels(image->pixels, image->width, image->height, image->stride);
  parcel.number(image->width).number(image->height);
  ferry_image_free(image);
  return status == FERRY_OK ? parcel.send() : status;
}

jint load_image(JNIEnv* env, jclass, jbyteArray path, jobject out) {
  return attempt([&] {
    Texts texts;
    if (ferry_status status = texts.read(env, path); status != FERRY_OK) return status;
    ferry_image image = {};
    const ferry_status status = ferry_image_load(texts.next(), &image);
    return send(status, &image, Parcel(env, out));
  });
}

jint decode_image(JNIEnv* env, jclass, jobject bytes, jobject out) {
  return attempt([&] {
    Memory memory;
    if (ferry_status status = memory_of(env, bytes, &memory); status != FERRY_OK) return status;
    ferry_image image = {};
    const ferry_status status = ferry_image_decode(memory.data, memory.size, &image);
    return send(status, &image, Parcel(env, out));
  });
}

jint save_image(JNIEnv* env, jclass, jint width, jint height, jobject pixels, jbyteArray path) {
  return attempt([&] {
    Texts texts;
    ferry_image image;
    ferry_status status = texts.read(env, path);
    if (status == FERRY_OK) status = image_of(env, width, height, pixels, &image);
    return status == FERRY_OK ? ferry_image_save_png(&image, texts.next()) : status;
  });
}

jint frame_size(JNIEnv* env, jclass, jintArray numbers, jobject first, jobject second, jobject third, jobject out) {
  return attempt([&] {
    ferry_frame frame;
    int32_t width = 0, height = 0;
    ferry_status status = frame_of(env, numbers, first, second, third, &frame);
    if (status == FERRY_OK) status = ferry_frame_size(&frame, &width, &height);
    return status == FERRY_OK ? Parcel(env, out).number(width).number(height).send() : status;
  });
}

}  // namespace

std::span<const JNINativeMethod> image_methods() {
  static const JNINativeMethod methods[] = {
      method("loadImage", "([BLio/ferry/Parcel;)I", load_image),
      method("decodeImage", "(Ljava/nio/ByteBuffer;Lio/ferry/Parcel;)I", decode_image),
      method("saveImage", "(IILjava/nio/ByteBuffer;[B)I", save_image),
      method("frameSize", "([ILjava/nio/ByteBuffer;Ljava/nio/ByteBuffer;Ljava/nio/ByteBuffer;Lio/ferry/Parcel;)I",
             frame_size),
  };
  return methods;
}

}  // namespace ferry::jni
