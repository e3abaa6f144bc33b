// SPDX-License-Identifier: Apache-2.0
package io.ferry;

/** What a native function tells: jni/parcel.h fills it, and whoever called it knows what lies where. */
final class Parcel {
  /** Numbers and truth values, every integer below 2^53. */
  double[] numbers;
  float[] values;
  byte[] bytes;
  short[] classes;
  /** Each ended by NUL. */
  byte[] texts;

  private int nextNumber;
  private String[] strings;
  private int nextString;

  double number() {
    return numbers[nextNumber++];
  }

  int integer() {
    return (int) number();
  }

  boolean truth() {
    return number() != 0;
  }

  /** All numbers that are left. */
  int[] integers() {
    int[] out = new int[numbers.length - nextNumber];
    for (int i = 0; i < out.length; ++i) out[i] = integer();
    return out;
  }

  /** The bytes as UTF-8. */
  String words() {
    return Native.string(bytes);
  }

  String text() {
    if (strings == null) strings = Native.split(texts);
    return strings[nextString++];
  }
}
