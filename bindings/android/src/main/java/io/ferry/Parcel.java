// SPDX-License-Identifier: Apache-2.0
package io.ferry;

/** The result of a native function: jni/parcel.h fills it, and the caller knows the order of the values. */
final class Parcel {
  /** Numbers and booleans; integers are below 2^53. */
  double[] numbers;
  float[] values;
  byte[] bytes;
  short[] classes;
  /** Each with a NUL. */
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

  /** All remaining numbers. */
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
