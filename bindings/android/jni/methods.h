// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_JNI_METHODS_H_
#define FERRY_JNI_METHODS_H_

#include <jni.h>

#include <span>

namespace ferry::jni {

// The native methods of io.ferry.Native, by the files that hold them: name, signature, function.
std::span<const JNINativeMethod> model_methods();
std::span<const JNINativeMethod> session_methods();
std::span<const JNINativeMethod> task_methods();
std::span<const JNINativeMethod> picture_methods();
// Those of io.ferry.NativeText, which a library of their own holds.
std::span<const JNINativeMethod> text_methods();

// Some jni.h declare the texts without const.
template <typename Function>
JNINativeMethod method(const char* name, const char* signature, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

}  // namespace ferry::jni

#endif  // FERRY_JNI_METHODS_H_
