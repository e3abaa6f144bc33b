// SPDX-License-Identifier: Apache-2.0
// libferry_text_jni: io.ferry.NativeText over ferry/text.h; as library.cc.
#include "methods.h"
#include "parcel.h"

namespace ferry::jni {
namespace {

bool prepare(JNIEnv* env) {
  jclass native = env->FindClass("io/ferry/NativeText");
  if (native == nullptr) return false;
  const auto methods = text_methods();
  const bool added = env->RegisterNatives(native, methods.data(), static_cast<jint>(methods.size())) == JNI_OK;
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
