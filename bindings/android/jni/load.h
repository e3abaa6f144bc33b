// SPDX-License-Identifier: Apache-2.0
#ifndef FERRY_JNI_LOAD_H_
#define FERRY_JNI_LOAD_H_

#include <jni.h>

#include <initializer_list>
#include <span>

namespace ferry::jni {

// Implements JNI_OnLoad(): registers all native methods of a class. Methods are not looked up by name, so a mismatch
// between Java and C++ fails when the library is loaded.
jint load(JavaVM* machine, const char* class_name, std::initializer_list<std::span<const JNINativeMethod>> methods);

}  // namespace ferry::jni

#endif  // FERRY_JNI_LOAD_H_
