// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_JNI_LOAD_H_
#define FERRY_JNI_LOAD_H_

#include <jni.h>

#include <initializer_list>
#include <span>

namespace ferry::jni {

// What JNI_OnLoad() does and gives: registers all native methods of a class. Nothing is found by its name, so a method
// that Java and C++ write differently fails at once.
jint load(JavaVM* machine, const char* class_name, std::initializer_list<std::span<const JNINativeMethod>> methods);

}  // namespace ferry::jni

#endif  // FERRY_JNI_LOAD_H_
