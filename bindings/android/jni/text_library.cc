// SPDX-License-Identifier: Apache-2.0
// libferry_text_jni: implements io.ferry.NativeText with ferry/text.h.
#include "load.h"
#include "methods.h"

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* machine, void*) {
  return ferry::jni::load(machine, "io/ferry/NativeText", {ferry::jni::text_methods()});
}
