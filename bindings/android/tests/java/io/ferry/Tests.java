// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.io.File;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;

/**
 * Runs the public methods without arguments of the named test classes, and exits with 1 if one fails. It also has their
 * shared helpers. FERRY_GOLDEN and FERRY_TEST_BLOBS are folders of blobs.
 */
final class Tests {
  interface Action {
    void run() throws Exception;
  }

  private Tests() {}

  public static void main(String[] classes) throws Exception {
    int failures = 0;
    int count = 0;
    for (String name : classes) {
      for (Method test : Class.forName("io.ferry." + name).getDeclaredMethods()) {
        if (!Modifier.isPublic(test.getModifiers()) || test.getParameterTypes().length > 0) continue;
        ++count;
        try {
          test.setAccessible(true);
          test.invoke(null);
          System.out.println("ok " + name + "." + test.getName());
        } catch (InvocationTargetException e) {
          ++failures;
          System.out.println("FAILED " + name + "." + test.getName());
          e.getCause().printStackTrace(System.out);
        }
      }
    }
    if (count == 0) throw new IllegalStateException("there are no tests");
    System.exit(failures == 0 ? 0 : 1);
  }

  static void check(boolean truth, String otherwise) {
    if (!truth) throw new AssertionError(otherwise);
  }

  static void equal(Object expected, Object actual) {
    check(expected.equals(actual), "expected " + expected + ", got " + actual);
  }

  static void near(double expected, double actual, double tolerance) {
    check(Math.abs(expected - actual) <= tolerance, "expected " + expected + ", got " + actual);
  }

  static <E extends Exception> E refused(Class<E> kind, String words, Action action) {
    try {
      action.run();
    } catch (Exception e) {
      if (!kind.isInstance(e)) throw new AssertionError("not a " + kind.getSimpleName(), e);
      check(String.valueOf(e.getMessage()).contains(words), "'" + words + "' is not in: " + e.getMessage());
      check(!e.getMessage().isEmpty(), "no sentence");
      return kind.cast(e);
    }
    throw new AssertionError("was not refused: " + words);
  }

  static void refused(FerryException.Status status, String words, Action action) {
    equal(status, refused(FerryException.class, words, action).status());
  }

  static String golden(String name) {
    return System.getenv("FERRY_GOLDEN") + "/" + name + ".ferry";
  }

  static String blob(String name) {
    return System.getenv("FERRY_TEST_BLOBS") + "/" + name + ".ferry";
  }

  /** A file's descriptor number: on Android ParcelFileDescriptor.getFd(). */
  static int number(RandomAccessFile file) throws Exception {
    Field number = FileDescriptor.class.getDeclaredField("fd");
    number.setAccessible(true);
    return number.getInt(file.getFD());
  }

  static byte[] bytes(String path) throws IOException {
    return Files.readAllBytes(new File(path).toPath());
  }

  static ByteBuffer direct(byte[] bytes) {
    ByteBuffer out = ByteBuffer.allocateDirect(bytes.length);
    out.put(bytes).flip();
    return out;
  }

  static float[] floats(ByteBuffer buffer) {
    FloatBuffer view = buffer.asFloatBuffer();
    float[] out = new float[view.remaining()];
    view.get(out);
    return out;
  }

  /** The input of a blob's golden results: tests/support/blobs.cc, noise(). */
  static ByteBuffer goldenInput(Session session) {
    ByteBuffer out = session.inputs().get(0).allocate();
    for (int i = 0; i < out.capacity() / 4; ++i) {
      int x = i * 0x85EBCA6B + 0xC2B2AE35;
      x = (x ^ x >>> 15) * 0x2C1B3C6D;
      x = (x ^ x >>> 12) * 0x297A2D39;
      out.putFloat(4 * i, ((x ^ x >>> 15) >>> 22) / 1024.0f - 0.5f);
    }
    return out;
  }

  static float[] goldenNumbers(String name, String output) throws IOException {
    for (String line : Files.readAllLines(new File(System.getenv("FERRY_GOLDEN"), name + ".txt").toPath())) {
      String[] words = line.split(" ");
      if (!words[0].equals(output)) continue;
      float[] out = new float[words.length - 1];
      for (int i = 0; i < out.length; ++i) out[i] = Float.parseFloat(words[i + 1]);
      return out;
    }
    throw new AssertionError(name + " has no " + output);
  }

  static void near(float[] expected, float[] actual, double tolerance) {
    equal(expected.length, actual.length);
    for (int i = 0; i < expected.length; ++i) near(expected[i], actual[i], tolerance);
  }

  /** Runs the work in a new thread; get() of the result throws its exception. */
  static <T> FutureTask<T> inThread(Callable<T> work) {
    FutureTask<T> task = new FutureTask<>(work);
    new Thread(task).start();
    return task;
  }
}
