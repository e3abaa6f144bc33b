// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_JNI_METHODS_H_
#define FERRY_JNI_METHODS_H_

#include <jni.h>

#include <span>

namespace ferry::jni {

// The native methods of io.ferry.Native, by the files that hold them: name, signature, function.
std::span<const JNINativeMethod> model_methods();
std::span<const JNINativeMethod> session_methods();
std::span<const JNINativeMethod> states_methods();
std::span<const JNINativeMethod> task_methods();
// Finds what task_methods() call in Java; false with an exception where it is not there.
bool prepare_tasks(JNIEnv* env);
std::span<const JNINativeMethod> image_methods();
// Those of io.ferry.NativeText, which a library of their own holds.
std::span<const JNINativeMethod> text_methods();

// Some jni.h declare the texts without const.
template <typename Function>
JNINativeMethod method(const char* name, const char* signature, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

}  // namespace ferry::jni

#endif  // FERRY_JNI_METHODS_H_
