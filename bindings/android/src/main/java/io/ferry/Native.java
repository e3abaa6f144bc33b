// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import org.jspecify.annotations.Nullable;

/**
 * The native functions of jni/, which use the C API only. Functions that can fail return a ferry_status; pass it to
 * check() in the same thread. Results are written into a Parcel, handles into the first element of `handle`. Texts are
 * UTF-8, each with a NUL.
 */
final class Native {
  private static final Charset UTF_8 = Charset.forName("UTF-8");

  static {
    System.loadLibrary("ferry_jni");
  }

  private Native() {}

  static void check(int status) {
    if (status != 0) throw new FerryException(status, new String(lastError(), UTF_8));
  }

  /** Concatenated texts, each with a NUL; null counts as "". */
  static byte[] texts(@Nullable String... texts) {
    StringBuilder all = new StringBuilder();
    for (@Nullable String text : texts) {
      if (text != null && text.indexOf('\0') >= 0) {
        throw new IllegalArgumentException("a path or name has no NUL character: \"" + text.replace('\0', '?') + "\"");
      }
      all.append(text == null ? "" : text).append('\0');
    }
    return all.toString().getBytes(UTF_8);
  }

  /** For texts that may contain NUL. */
  static byte[] utf8(String text) {
    return text.getBytes(UTF_8);
  }

  static String string(byte[] utf8) {
    return new String(utf8, UTF_8);
  }

  /** The inverse of texts(); invalid UTF-8 becomes U+FFFD. */
  static String[] split(byte[] texts) {
    String[] out = new String(texts, UTF_8).split("\0", -1);
    String[] each = new String[out.length - 1]; // the last NUL is followed by an empty text
    System.arraycopy(out, 0, each, 0, each.length);
    return each;
  }

  /** A buffer that the library accesses without a copy: direct, from its position to its limit. */
  static ByteBuffer direct(String what, ByteBuffer buffer) {
    if (!buffer.isDirect()) {
      throw new IllegalArgumentException(what + " is not a direct buffer: ByteBuffer.allocateDirect() makes one");
    }
    return buffer.slice();
  }

  static native byte[] version();

  static native byte[] lastError();

  static native int printable(byte[] text, boolean lines, Parcel out);

  static native long address(ByteBuffer buffer);

  // ---- models: jni/model.cc

  static native int openPath(byte[] path, long[] handle);

  static native int openDescriptor(int descriptor, long offset, long length, long[] handle);

  static native int openMemory(ByteBuffer blob, long[] handle);

  static native int openGraph(long model, byte[] name, long[] handle);

  static native void closeModel(long model);

  static native int describeModel(long model, Parcel out);

  /** `kind`: 0 inputs, 1 outputs, 2 taps. */
  static native int modelTensors(long model, int kind, Parcel out);

  static native int checkModel(long model);

  static native int finishCheck(long model);

  static native int verify(long model, int[] numbers, long[] longs, byte[] texts, Parcel out);

  // ---- sessions: jni/session.cc

  static native int openSession(long model, int[] numbers, long[] longs, byte[] texts, long[] handle);

  static native void closeSession(long session);

  static native void cancelSession(long session);

  static native int sessionTensors(long session, int kind, int count, Parcel out);

  /** `shapes`: the rank of each input, followed by its dimensions. */
  static native int resize(long session, int[] shapes, int inputs);

  static native int writeInput(long session, int index, ByteBuffer from);

  static native int readOutput(long session, int index, ByteBuffer to);

  static native int tap(long session, byte[] name, Parcel out);

  static native int readTap(long session, byte[] name, ByteBuffer to);

  static native int setFrame(long session, int[] frame, @Nullable ByteBuffer first, @Nullable ByteBuffer second,
      @Nullable ByteBuffer third);

  /** `index`: of a batch; -1: not a batch. */
  static native int setImage(long session, int index, int width, int height, ByteBuffer pixels);

  static native int run(long session);

  static native int topClasses(long session, int index, int count, Parcel out);

  static native int embedding(long session, int index, Parcel out);

  static native int profile(long session, Parcel out);

  static native int report(long session, Parcel out);

  // ---- checks of a GPU: jni/gpu.cc

  static native int checkKernels(long session, double seconds, Parcel out);

  static native int audit(long model, int[] numbers, long[] longs, byte[] texts, double seconds, Parcel out);

  // ---- states: jni/states.cc

  static native int createStates(long model, long[] handle);

  static native int sessionStates(long session, long[] handle);

  static native void closeStates(long states);

  static native int describeStates(long states, Parcel out);

  static native int readState(long states, int index, ByteBuffer to);

  static native int reserveStates(long states, int length);

  static native int truncateStates(long states, int length);

  static native int saveStates(long states, byte[] path);

  static native int loadStates(long states, byte[] path);

  // ---- tasks: jni/task.cc

  static native int openTask(long model, int[] numbers, long[] longs, byte[] texts, long[] handle);

  static native void closeTask(long task);

  static native void cancelTask(long task);

  /** The session of the model's graph; the task owns it. */
  static native long taskSession(long task);

  static native int runTask(long task, int[] numbers, float[] prompts, @Nullable ByteBuffer image,
      @Nullable ByteBuffer mask, int @Nullable [] frame, @Nullable ByteBuffer first, @Nullable ByteBuffer second,
      @Nullable ByteBuffer third, @Nullable Progress progress, Parcel out);

  // ---- images: jni/image.cc

  static native int loadImage(byte[] path, Parcel out);

  static native int decodeImage(ByteBuffer bytes, Parcel out);

  static native int saveImage(int width, int height, ByteBuffer pixels, byte[] path);

  static native int frameSize(int[] frame, @Nullable ByteBuffer first, @Nullable ByteBuffer second,
      @Nullable ByteBuffer third, Parcel out);
}
