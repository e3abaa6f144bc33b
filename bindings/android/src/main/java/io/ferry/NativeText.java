// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;

/**
 * The native functions of jni/text.cc, in a separate library, which apps without text do not load. Conventions as in
 * Native; texts without a NUL are any bytes of UTF-8.
 */
final class NativeText {
  static {
    Native.version(); // loads the library that both need
    try {
      System.loadLibrary("ferry_text_jni");
    } catch (UnsatisfiedLinkError e) {
      UnsatisfiedLinkError advised =
          new UnsatisfiedLinkError(e.getMessage() + " (language models need io.ferry:ferry-text)");
      advised.initCause(e);
      throw advised;
    }
  }

  private NativeText() {}

  static native int openText(long model, long[] handle);

  static native void closeText(long text);

  static native int encode(long text, byte[] words, boolean special, Parcel out);

  static native int decode(long text, int[] tokens, Parcel out);

  static native int render(long text, byte[] chat, Parcel out);

  /** `messages`: alternating role and content. */
  static native int chat(long text, byte[] messages, Parcel out);

  static native int openGenerator(long model, int[] numbers, long[] longs, byte[] texts, long[] handle);

  static native void closeGenerator(long generator);

  static native void cancelGenerator(long generator);

  static native long generatorSession(long generator);

  static native int setSampling(long generator, float[] numbers, int topK, long seed, int[] tokens, float[] values,
      byte[] stop);

  /** `numbers`: temperature, top-p, min-p, repetition penalty; `topK`: one element. */
  static native int recommendedSampling(long generator, float[] numbers, int[] topK);

  static native int append(long generator, int[] tokens);

  static native int appendText(long generator, byte[] words);

  static native int setTokens(long generator, int[] tokens);

  static native int setText(long generator, byte[] words);

  /** `withText`: the image is for a placeholder in a later text. */
  static native int appendImage(long generator, int width, int height, ByteBuffer pixels, boolean withText);

  static native int next(long generator, Parcel out);

  static native int describeGenerator(long generator, Parcel out);

  static native int save(long generator, byte[] path, byte[] note);

  static native int load(long generator, byte[] path, Parcel out);

  static native int reset(long generator);
}
