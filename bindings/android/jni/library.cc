// SPDX-License-Identifier: Apache-2.0
// libferry_jni: io.ferry.Native over the C API. Nothing here is found by its name: JNI_OnLoad() registers what there
// is, so that a method which Java and C++ write differently fails at once.
#include "methods.h"
#include "parcel.h"

#include <cstring>

namespace ferry::jni {
namespace {

jbyteArray bytes_of(JNIEnv* env, const char* text) {
  const jsize length = static_cast<jsize>(std::strlen(text));
  jbyteArray out = env->NewByteArray(length);
  if (out == nullptr) return nullptr;
  env->SetByteArrayRegion(out, 0, length, reinterpret_cast<const jbyte*>(text));
  return env->ExceptionCheck() ? nullptr : out;
}

jbyteArray version(JNIEnv* env, jclass) { return bytes_of(env, ferry_version()); }

jbyteArray last_error(JNIEnv* env, jclass) { return bytes_of(env, ferry_last_error()); }

jlong address(JNIEnv* env, jclass, jobject buffer) {
  return static_cast<jlong>(reinterpret_cast<intptr_t>(env->GetDirectBufferAddress(buffer)));
}

bool add(JNIEnv* env, jclass native, std::span<const JNINativeMethod> methods) {
  return env->RegisterNatives(native, methods.data(), static_cast<jint>(methods.size())) == JNI_OK;
}

bool prepare(JNIEnv* env) {
  const JNINativeMethod own[] = {
      method("version", "()[B", version),
      method("lastError", "()[B", last_error),
      method("address", "(Ljava/nio/ByteBuffer;)J", address),
  };
  jclass native = env->FindClass("io/ferry/Native");
  if (native == nullptr) return false;
  const bool added = add(env, native, own) && add(env, native, model_methods()) &&
                     add(env, native, session_methods()) && add(env, native, task_methods()) &&
                     add(env, native, picture_methods());
  env->DeleteLocalRef(native);
  return added && Parcel::prepare(env);
}

}  // namespace
}  // namespace ferry::jni

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* machine, void*) {
  constexpr jint kVersion = JNI_VERSION_1_6;
  void* env = nullptr;
  if (machine->GetEnv(&env, kVersion) != JNI_OK) return JNI_ERR;
  return ferry::jni::prepare(static_cast<JNIEnv*>(env)) ? kVersion : JNI_ERR;
}
