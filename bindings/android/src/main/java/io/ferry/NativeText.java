// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;

/**
 * The functions of jni/text.cc, a library of its own: apps that show images only do not load it. As in Native; texts
 * without a NUL behind them are UTF-8, whatever is in them.
 */
final class NativeText {
  static {
    Native.version(); // loads what both need
    System.loadLibrary("ferry_text_jni");
  }

  private NativeText() {}

  static native int openText(long model, long[] handle);

  static native void closeText(long text);

  static native int encode(long text, byte[] words, boolean special, Parcel out);

  static native int decode(long text, int[] tokens, Parcel out);

  static native int render(long text, byte[] chat, Parcel out);

  /** `messages`: role and content in turns. */
  static native int chat(long text, byte[] messages, Parcel out);

  static native int openGenerator(long model, int[] numbers, long[] longs, byte[] texts, long[] handle);

  static native void closeGenerator(long generator);

  static native void cancelGenerator(long generator);

  static native long generatorSession(long generator);

  static native int setSampling(long generator, float[] numbers, int topK, long seed, int[] tokens, float[] values,
      byte[] stop);

  static native int append(long generator, int[] tokens);

  static native int appendText(long generator, byte[] words);

  static native int setTokens(long generator, int[] tokens);

  static native int setText(long generator, byte[] words);

  /** `withText`: it is seen for a text that comes later, which has its token. */
  static native int appendImage(long generator, int width, int height, ByteBuffer pixels, boolean withText);

  static native int next(long generator, Parcel out);

  static native int describeGenerator(long generator, Parcel out);

  static native int save(long generator, byte[] path, byte[] note);

  static native int load(long generator, byte[] path, Parcel out);

  static native int reset(long generator);
}
