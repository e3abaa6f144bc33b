// SPDX-License-Identifier: Apache-2.0
#include <ferry/text.h>

#include <iterator>

#include "arguments.h"
#include "methods.h"
#include "parcel.h"

namespace ferry::jni {
namespace {

// A whole Java array of ints.
ferry_status tokens_of(JNIEnv* env, jintArray array, std::vector<jint>* out) {
  out->resize(static_cast<size_t>(env->GetArrayLength(array)));
  return numbers_of(env, array, out->data(), static_cast<jsize>(out->size()));
}

ferry_status floats_of(JNIEnv* env, jfloatArray array, std::vector<jfloat>* out) {
  out->resize(static_cast<size_t>(env->GetArrayLength(array)));
  env->GetFloatArrayRegion(array, 0, static_cast<jsize>(out->size()), out->data());
  return env->ExceptionCheck() ? FERRY_INVALID_ARGUMENT : FERRY_OK;
}

// Characters from `write`, which is first called for their number.
template <typename Write>
ferry_status send_words(JNIEnv* env, jobject out, const Write& write) {
  size_t bytes = 0;
  ferry_status status = write(nullptr, &bytes);
  if (status != FERRY_OK) return status;
  std::string words(bytes, '\0');
  status = write(words.data(), &bytes);
  if (status != FERRY_OK) return status;
  Parcel parcel(env, out);
  status = parcel.bytes(reinterpret_cast<const uint8_t*>(words.data()), bytes);
  return status == FERRY_OK ? parcel.send() : status;
}

jint open_text(JNIEnv* env, jclass, jlong model, jlongArray handle) {
  ferry_text* text = nullptr;
  ferry_status status = ferry_text_open(pointer<ferry_model>(model), &text);
  if (status == FERRY_OK) status = give(env, handle, text);
  if (status != FERRY_OK) ferry_text_close(text);
  return status;
}

void close_text(JNIEnv*, jclass, jlong text) { ferry_text_close(pointer<ferry_text>(text)); }

jint encode(JNIEnv* env, jclass, jlong handle, jbyteArray words, jboolean special, jobject out) {
  return attempt([&] {
    const auto* text = pointer<ferry_text>(handle);
    Texts given;
    if (ferry_status status = given.read(env, words); status != FERRY_OK) return status;
    size_t count = 0;
    ferry_status status = ferry_text_encode(text, given.data(), given.size(), special != 0, nullptr, &count);
    if (status != FERRY_OK) return status;
    std::vector<int32_t> tokens(count);
    status = ferry_text_encode(text, given.data(), given.size(), special != 0, tokens.data(), &count);
    if (status != FERRY_OK) return status;
    Parcel parcel(env, out);
    for (size_t i = 0; i < count; ++i) parcel.number(tokens[i]);
    return parcel.send();
  });
}

jint decode(JNIEnv* env, jclass, jlong text, jintArray tokens, jobject out) {
  return attempt([&] {
    std::vector<jint> ids;
    if (ferry_status status = tokens_of(env, tokens, &ids); status != FERRY_OK) return status;
    return send_words(env, out, [&](char* words, size_t* bytes) {
      return ferry_text_decode(pointer<ferry_text>(text), ids.data(), ids.size(), words, bytes);
    });
  });
}

jint render(JNIEnv* env, jclass, jlong text, jbyteArray chat, jobject out) {
  return attempt([&] {
    Texts given;
    if (ferry_status status = given.read(env, chat); status != FERRY_OK) return status;
    return send_words(env, out, [&](char* words, size_t* bytes) {
      return ferry_text_render(pointer<ferry_text>(text), given.data(), given.size(), words, bytes);
    });
  });
}

jint chat(JNIEnv* env, jclass, jlong text, jbyteArray roles_and_contents, jobject out) {
  return attempt([&] {
    Texts given;
    if (ferry_status status = given.read(env, roles_and_contents); status != FERRY_OK) return status;
    std::vector<ferry_message> messages;
    while (!given.ended()) {
      const char* role = given.next();
      messages.push_back({role, given.next()});
    }
    return send_words(env, out, [&](char* words, size_t* bytes) {
      return ferry_text_chat(pointer<ferry_text>(text), messages.data(), messages.size(), words, bytes);
    });
  });
}

jint open_generator(JNIEnv* env, jclass, jlong model, jintArray numbers, jlongArray longs, jbyteArray texts,
                    jlongArray handle) {
  return open_with_options(env, model, numbers, longs, texts, handle, ferry_generator_create, ferry_generator_close);
}

void close_generator(JNIEnv*, jclass, jlong generator) { ferry_generator_close(pointer<ferry_generator>(generator)); }

void cancel_generator(JNIEnv*, jclass, jlong generator) { ferry_generator_cancel(pointer<ferry_generator>(generator)); }

jlong generator_session(JNIEnv*, jclass, jlong generator) {
  return static_cast<jlong>(reinterpret_cast<intptr_t>(ferry_generator_session(pointer<ferry_generator>(generator))));
}

jint set_sampling(JNIEnv* env, jclass, jlong generator, jfloatArray numbers, jint top_k, jlong seed, jintArray tokens,
                  jfloatArray values, jbyteArray stop) {
  return attempt([&] {
    std::vector<jfloat> n, bias;
    std::vector<jint> biased;
    Texts stops;
    ferry_status status = floats_of(env, numbers, &n);
    if (status == FERRY_OK) status = tokens_of(env, tokens, &biased);
    if (status == FERRY_OK) status = floats_of(env, values, &bias);
    if (status == FERRY_OK) status = stops.read(env, stop);
    if (status != FERRY_OK) return status;
    std::vector<const char*> ends;
    while (!stops.ended()) ends.push_back(stops.next());
    ferry_sampling sampling;
    ferry_sampling_init(&sampling);
    sampling.temperature = n[0];
    sampling.top_p = n[1];
    sampling.min_p = n[2];
    sampling.repetition_penalty = n[3];
    sampling.top_k = top_k;
    sampling.seed = static_cast<uint64_t>(seed);
    sampling.bias_tokens = biased.data();
    sampling.bias_values = bias.data();
    sampling.bias_count = biased.size();
    sampling.stop = ends.data();
    sampling.stop_count = ends.size();
    return ferry_generator_set_sampling(pointer<ferry_generator>(generator), &sampling);
  });
}

jint recommended_sampling(JNIEnv* env, jclass, jlong generator, jfloatArray numbers, jintArray top_k) {
  return attempt([&] {
    ferry_sampling sampling;
    ferry_sampling_init(&sampling);
    const ferry_status status = ferry_generator_recommended_sampling(pointer<ferry_generator>(generator), &sampling);
    if (status != FERRY_OK) return status;
    const jfloat found[] = {sampling.temperature, sampling.top_p, sampling.min_p, sampling.repetition_penalty};
    env->SetFloatArrayRegion(numbers, 0, static_cast<jsize>(std::size(found)), found);
    env->SetIntArrayRegion(top_k, 0, 1, &sampling.top_k);
    return status;
  });
}

using PutTokens = decltype(ferry_generator_append);
using PutText = decltype(ferry_generator_append_text);

jint put(JNIEnv* env, jlong generator, jintArray tokens, PutTokens* how) {
  return attempt([&] {
    std::vector<jint> ids;
    ferry_status status = tokens_of(env, tokens, &ids);
    return status == FERRY_OK ? how(pointer<ferry_generator>(generator), ids.data(), ids.size()) : status;
  });
}

jint put(JNIEnv* env, jlong generator, jbyteArray words, PutText* how) {
  return attempt([&] {
    Texts given;
    ferry_status status = given.read(env, words);
    return status == FERRY_OK ? how(pointer<ferry_generator>(generator), given.data(), given.size()) : status;
  });
}

jint append(JNIEnv* env, jclass, jlong generator, jintArray tokens) {
  return put(env, generator, tokens, ferry_generator_append);
}

jint append_text(JNIEnv* env, jclass, jlong generator, jbyteArray words) {
  return put(env, generator, words, ferry_generator_append_text);
}

jint set_tokens(JNIEnv* env, jclass, jlong generator, jintArray tokens) {
  return put(env, generator, tokens, ferry_generator_set);
}

jint set_text(JNIEnv* env, jclass, jlong generator, jbyteArray words) {
  return put(env, generator, words, ferry_generator_set_text);
}

jint append_image(JNIEnv* env, jclass, jlong generator, jint width, jint height, jobject pixels, jboolean with_text) {
  ferry_image image;
  if (ferry_status status = image_of(env, width, height, pixels, &image); status != FERRY_OK) return status;
  const auto see = with_text != 0 ? ferry_generator_add_image : ferry_generator_append_image;
  return see(pointer<ferry_generator>(generator), &image);
}

jint next(JNIEnv* env, jclass, jlong handle, jobject out) {
  return attempt([&] {
    auto* generator = pointer<ferry_generator>(handle);
    int32_t token = 0;
    if (ferry_status status = ferry_generator_next(generator, &token); status != FERRY_OK) return status;
    size_t bytes = 0;
    const char* words = ferry_generator_text(generator, &bytes);
    Parcel parcel(env, out);
    ferry_status status = parcel.bytes(reinterpret_cast<const uint8_t*>(words), bytes);
    parcel.number(token).number(double{ferry_generator_log_probability(generator)});
    parcel.number(ferry_generator_ended(generator));
    return status == FERRY_OK ? parcel.send() : status;
  });
}

jint describe_generator(JNIEnv* env, jclass, jlong handle, jobject out) {
  return attempt([&] {
    const auto* generator = pointer<ferry_generator>(handle);
    size_t count = 0;
    const int32_t* tokens = ferry_generator_tokens(generator, &count);
    Parcel parcel(env, out);
    parcel.number(static_cast<double>(ferry_generator_max_length(generator)));
    for (size_t i = 0; i < count; ++i) parcel.number(tokens[i]);
    return parcel.send();
  });
}

jint save(JNIEnv* env, jclass, jlong generator, jbyteArray path, jbyteArray note) {
  return attempt([&] {
    Texts where, what;
    ferry_status status = where.read(env, path);
    if (status == FERRY_OK) status = what.read(env, note);
    return status == FERRY_OK
               ? ferry_generator_save(pointer<ferry_generator>(generator), where.next(), what.data(), what.size())
               : status;
  });
}

jint load(JNIEnv* env, jclass, jlong handle, jbyteArray path, jobject out) {
  return attempt([&] {
    auto* generator = pointer<ferry_generator>(handle);
    Texts where;
    ferry_status status = where.read(env, path);
    if (status == FERRY_OK) status = ferry_generator_load(generator, where.next());
    if (status != FERRY_OK) return status;
    size_t bytes = 0;
    const void* note = ferry_generator_note(generator, &bytes);
    Parcel parcel(env, out);
    status = parcel.bytes(static_cast<const uint8_t*>(note != nullptr ? note : ""), bytes);
    return status == FERRY_OK ? parcel.send() : status;
  });
}

jint reset(JNIEnv*, jclass, jlong generator) { return ferry_generator_reset(pointer<ferry_generator>(generator)); }

}  // namespace

std::span<const JNINativeMethod> text_methods() {
  static const JNINativeMethod methods[] = {
      method("openText", "(J[J)I", open_text),
      method("closeText", "(J)V", close_text),
      method("encode", "(J[BZLio/ferry/Parcel;)I", encode),
      method("decode", "(J[ILio/ferry/Parcel;)I", decode),
      method("render", "(J[BLio/ferry/Parcel;)I", render),
      method("chat", "(J[BLio/ferry/Parcel;)I", chat),
      method("openGenerator", "(J[I[J[B[J)I", open_generator),
      method("closeGenerator", "(J)V", close_generator),
      method("cancelGenerator", "(J)V", cancel_generator),
      method("generatorSession", "(J)J", generator_session),
      method("setSampling", "(J[FIJ[I[F[B)I", set_sampling),
      method("recommendedSampling", "(J[F[I)I", recommended_sampling),
      method("append", "(J[I)I", append),
      method("appendText", "(J[B)I", append_text),
      method("setTokens", "(J[I)I", set_tokens),
      method("setText", "(J[B)I", set_text),
      method("appendImage", "(JIILjava/nio/ByteBuffer;Z)I", append_image),
      method("next", "(JLio/ferry/Parcel;)I", next),
      method("describeGenerator", "(JLio/ferry/Parcel;)I", describe_generator),
      method("save", "(J[B[B)I", save),
      method("load", "(J[BLio/ferry/Parcel;)I", load),
      method("reset", "(J)I", reset),
  };
  return methods;
}

}  // namespace ferry::jni
