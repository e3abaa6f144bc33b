// SPDX-License-Identifier: Apache-2.0
// libferry_jni: implements io.ferry.Native with the C API.
#include "arguments.h"
#include "load.h"
#include "methods.h"
#include "parcel.h"

#include <ferry/task.h>

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

jint printable(JNIEnv* env, jclass, jbyteArray text, jboolean lines, jobject out) {
  return attempt([&] {
    Texts texts;
    if (ferry_status status = texts.read(env, text); status != FERRY_OK) return status;
    const char* from = texts.next();
    std::string shown(ferry_printable(from, lines != 0, nullptr, 0), '\0');
    ferry_printable(from, lines != 0, shown.data(), shown.size() + 1);
    return Parcel(env, out).text(shown.c_str()).send();
  });
}

const JNINativeMethod kOwn[] = {
    method("version", "()[B", version),
    method("lastError", "()[B", last_error),
    method("printable", "([BZLio/ferry/Parcel;)I", printable),
    method("address", "(Ljava/nio/ByteBuffer;)J", address),
};

}  // namespace
}  // namespace ferry::jni

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* machine, void*) {
  using namespace ferry::jni;
  const jint version = load(
      machine, "io/ferry/Native",
      {kOwn, model_methods(), session_methods(), gpu_methods(), states_methods(), task_methods(), image_methods()});
  void* env = nullptr;
  if (version == JNI_ERR || machine->GetEnv(&env, version) != JNI_OK) return JNI_ERR;
  return prepare_tasks(static_cast<JNIEnv*>(env)) ? version : JNI_ERR;
}
