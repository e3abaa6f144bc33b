// SPDX-License-Identifier: Apache-2.0
#include "load.h"

#include "parcel.h"

namespace ferry::jni {

jint load(JavaVM* machine, const char* class_name, std::initializer_list<std::span<const JNINativeMethod>> methods) {
  constexpr jint kVersion = JNI_VERSION_1_6;
  void* any = nullptr;
  if (machine->GetEnv(&any, kVersion) != JNI_OK) return JNI_ERR;
  auto* env = static_cast<JNIEnv*>(any);
  jclass native = env->FindClass(class_name);
  if (native == nullptr) return JNI_ERR;
  bool added = true;
  for (const auto& of_file : methods)
    added = added && env->RegisterNatives(native, of_file.data(), static_cast<jint>(of_file.size())) == JNI_OK;
  env->DeleteLocalRef(native);
  return added && Parcel::prepare(env) ? kVersion : JNI_ERR;
}

}  // namespace ferry::jni
