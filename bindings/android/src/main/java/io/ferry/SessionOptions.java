// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Where and how a network runs. A new one is the library's defaults; setters return it. Read when it is used. */
public final class SessionOptions {
  public enum Backend {
    CPU,
    /** Vulkan. A GPU that cannot be used gives a session on the CPU, whose report says why. */
    GPU
  }

  /** How a GPU stores numbers, and how a CPU that can computes with them: elsewhere float32, see Report. */
  public enum Precision { FLOAT32, FLOAT16 }

  /** Where a session's own threads run. */
  public enum Cores {
    /** The big cores. */
    PERFORMANCE,
    /** For what lasts: the big cores without the fastest, which get hot. */
    BALANCED,
    /** The slowest. */
    EFFICIENT,
    ALL
  }

  private static final int MAXIMUM_CPUS = 1024; // of a machine

  private Backend backend = Backend.CPU;
  private Precision precision = Precision.FLOAT32;
  private Cores cores = Cores.PERFORMANCE;
  private int threads;
  private boolean gpuRequired;
  private boolean allTaps;
  private boolean profile;
  private long memoryLimit;
  private int[] cpus = {};
  private States states;
  private String device;
  private String gpuCacheDir;
  private String cacheDir;
  private final List<String> taps = new ArrayList<String>();

  public SessionOptions backend(Backend value) {
    backend = value;
    return this;
  }

  public SessionOptions precision(Precision value) {
    precision = value;
    return this;
  }

  public SessionOptions cores(Cores value) {
    cores = value;
    return this;
  }

  /**
   * These CPUs instead, by the system's numbers; none: cores(). Those that are offline, or that this process may not
   * use, are left out; FerryException, INVALID_ARGUMENT, where none is left.
   */
  public SessionOptions cpus(int... numbers) {
    for (int cpu : numbers) {
      if (cpu < 0 || cpu >= MAXIMUM_CPUS) {
        throw new IllegalArgumentException("CPU " + cpu + ": must be 0 to " + (MAXIMUM_CPUS - 1));
      }
    }
    cpus = numbers.clone();
    return this;
  }

  /** Of a session alone: what it remembers its runs in, instead of states of its own; null: those. */
  public SessionOptions states(States value) {
    states = value;
    return this;
  }

  /** Including the caller's; 0: one a core of those chosen. Results do not depend on it. */
  public SessionOptions threads(int value) {
    threads = value;
    return this;
  }

  /** A GPU that cannot be used is a FerryException: no session on the CPU instead. */
  public SessionOptions gpuRequired(boolean value) {
    gpuRequired = value;
    return this;
  }

  /** A GPU's index, or part of its name; null: the best. */
  public SessionOptions device(String value) {
    device = value;
    return this;
  }

  /** Folder for weights packed for this CPU or GPU, which later sessions map: Context.getCacheDir(). */
  public SessionOptions cacheDir(String value) {
    cacheDir = value;
    return this;
  }

  /** Folder for a GPU's pipelines and what was found out about its driver: Context.getCacheDir(). */
  public SessionOptions gpuCacheDir(String value) {
    gpuCacheDir = value;
    return this;
  }

  /** Bytes at most; 0: the library's choice. */
  public SessionOptions memoryLimit(long value) {
    memoryLimit = value;
    return this;
  }

  /** Names of inner tensors to keep, for Session.tap(). */
  public SessionOptions taps(String... names) {
    taps.clear();
    taps.addAll(Arrays.asList(names));
    return this;
  }

  public SessionOptions allTaps(boolean value) {
    allTaps = value;
    return this;
  }

  /** Times every operator, for Session.profile(). */
  public SessionOptions profile(boolean value) {
    profile = value;
    return this;
  }

  /** As jni/arguments.cc reads them. */
  int[] numbers() {
    return new int[] {threads, backend.ordinal(), precision.ordinal(), cores.ordinal(), gpuRequired ? 1 : 0,
        allTaps ? 1 : 0, profile ? 1 : 0};
  }

  /** Likewise: the memory limit, the pointer of states that are shared, a bit a CPU. */
  long[] longs(long states) {
    if (memoryLimit < 0) throw new IllegalArgumentException("memoryLimit is " + memoryLimit + ": must be 0 or more");
    long[] out = new long[2 + (cpus.length > 0 ? MAXIMUM_CPUS / Long.SIZE : 0)];
    out[0] = memoryLimit;
    out[1] = states;
    for (int cpu : cpus) out[2 + cpu / Long.SIZE] |= 1L << cpu; // of which Java takes the last six bits
    return out;
  }

  States states() {
    return states;
  }

  byte[] texts() {
    String[] all = new String[3 + taps.size()];
    all[0] = device;
    all[1] = gpuCacheDir;
    all[2] = cacheDir;
    for (int i = 0; i < taps.size(); ++i) all[3 + i] = taps.get(i);
    return Native.texts(all);
  }
}
