// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_JNI_METHODS_H_
#define FERRY_JNI_METHODS_H_

#include <jni.h>

#include <span>

namespace ferry::jni {

// The native methods of io.ferry.Native by source file: name, signature, function.
std::span<const JNINativeMethod> model_methods();
std::span<const JNINativeMethod> session_methods();
std::span<const JNINativeMethod> gpu_methods();
std::span<const JNINativeMethod> states_methods();
std::span<const JNINativeMethod> task_methods();
// Looks up the Java methods that task_methods() call; false, with an exception, if one is missing.
bool prepare_tasks(JNIEnv* env);
std::span<const JNINativeMethod> image_methods();
// The methods of io.ferry.NativeText, in a separate library.
std::span<const JNINativeMethod> text_methods();

// Some versions of jni.h declare the strings without const.
template <typename Function>
JNINativeMethod method(const char* name, const char* signature, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

}  // namespace ferry::jni

#endif  // FERRY_JNI_METHODS_H_
