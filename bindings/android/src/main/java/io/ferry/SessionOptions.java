// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where and how a network runs. A new object has the library's defaults; setters return this. Options are read when
 * they are passed.
 */
public final class SessionOptions {
  public enum Backend {
    CPU,
    /** Vulkan. If the GPU cannot be used, the session runs on the CPU and its report says why. */
    GPU
  }

  /** Storage on a GPU, and on CPUs with float16 arithmetic; otherwise float32, see Report. */
  public enum Precision { FLOAT32, FLOAT16 }

  /** The cores for a session's own threads. */
  public enum Cores {
    /** The big cores. */
    PERFORMANCE,
    /** For sustained work: the big cores except the fastest, which run hot. */
    BALANCED,
    /** The slowest cores. */
    EFFICIENT,
    ALL
  }

  /** The most bits of a number of the session's own states. */
  public enum StateType { FLOAT32, FLOAT16, INT8 }

  private static final int MAXIMUM_CPUS = 1024; // maximum of a machine

  private Backend backend = Backend.CPU;
  private Precision precision = Precision.FLOAT32;
  private Cores cores = Cores.PERFORMANCE;
  private StateType stateType = StateType.FLOAT32;
  private int threads;
  private boolean gpuRequired;
  private boolean allTaps;
  private boolean profile;
  private boolean checkWeights = true;
  private double gpuWatch;
  private long memoryLimit;
  private int[] cpus = {};
  private @Nullable States states;
  private @Nullable String device;
  private @Nullable String gpuCacheDir;
  private @Nullable String cacheDir;
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
   * CPUs to use instead of cores(), by the system's numbers; empty: cores(). CPUs that are offline or forbidden to this
   * process are ignored; FerryException, INVALID_ARGUMENT, if none is left.
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

  /** For sessions only: shared states to use instead of its own; null: its own. */
  public SessionOptions states(@Nullable States value) {
    states = value;
    return this;
  }

  /**
   * For the session's own states: keys and values of attention have no more bits than that; FLOAT32: as the blob says.
   * FerryException, {@link FerryException.Status#UNSUPPORTED}: the blob has no states that may have fewer bits.
   */
  public SessionOptions stateType(StateType value) {
    stateType = value;
    return this;
  }

  /** Including the caller's thread; 0: one per selected core. Results do not depend on it. */
  public SessionOptions threads(int value) {
    threads = value;
    return this;
  }

  /** Fail with a FerryException if the GPU cannot be used, instead of running on the CPU. */
  public SessionOptions gpuRequired(boolean value) {
    gpuRequired = value;
    return this;
  }

  /** A GPU's index, or part of its name; null: the best. */
  public SessionOptions device(@Nullable String value) {
    device = value;
    return this;
  }

  /** Folder for weights packed for this CPU or GPU, which later sessions map: Context.getCacheDir(); null: none. */
  public SessionOptions cacheDir(@Nullable String value) {
    cacheDir = value;
    return this;
  }

  /** Folder for a GPU's pipelines and canary results: Context.getCacheDir(); null: none. */
  public SessionOptions gpuCacheDir(@Nullable String value) {
    gpuCacheDir = value;
    return this;
  }

  /** Maximum bytes; 0: the library's default. */
  public SessionOptions memoryLimit(long value) {
    memoryLimit = value;
    return this;
  }

  /** Names of intermediate tensors to keep, for Session.tap(). */
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

  /**
   * Whether the first session of a model compares the weights with their checksums, once a file, beside the first runs
   * (true): damage makes runs fail with {@link Status#CORRUPT}. The record of a checked file is in the cacheDir().
   */
  public SessionOptions checkWeights(boolean value) {
    checkWeights = value;
    return this;
  }

  /**
   * Watches the GPU: in some runs the CPU computes rows of one operator again, in at most this share of the time of all
   * runs, 0 to 1. After a disagreement the session is on the CPU, and its report says so. FerryException, {@link
   * FerryException.Status#UNSUPPORTED}: the library was built without FERRY_GPU_CHECKS, the default on ARM.
   */
  public SessionOptions gpuWatch(double value) {
    gpuWatch = value;
    return this;
  }

  /** In the layout that jni/arguments.cc reads. */
  int[] numbers() {
    return new int[] {threads, backend.ordinal(), precision.ordinal(), cores.ordinal(), gpuRequired ? 1 : 0,
        allTaps ? 1 : 0, profile ? 1 : 0, checkWeights ? 0 : 1, stateType.ordinal()};
  }

  /** Likewise: the memory limit, the pointer of shared states, gpuWatch's bits, a bit per CPU. */
  long[] longs(long states) {
    if (memoryLimit < 0) throw new IllegalArgumentException("memoryLimit is " + memoryLimit + ": must be 0 or more");
    long[] out = new long[3 + (cpus.length > 0 ? MAXIMUM_CPUS / Long.SIZE : 0)];
    out[0] = memoryLimit;
    out[1] = states;
    out[2] = Double.doubleToRawLongBits(gpuWatch);
    for (int cpu : cpus) out[3 + cpu / Long.SIZE] |= 1L << cpu; // Java uses the last six bits of the shift
    return out;
  }

  @Nullable States states() {
    return states;
  }

  byte[] texts() {
    @Nullable String[] all = new @Nullable String[3 + taps.size()];
    all[0] = device;
    all[1] = gpuCacheDir;
    all[2] = cacheDir;
    for (int i = 0; i < taps.size(); ++i) all[3 + i] = taps.get(i);
    return Native.texts(all);
  }
}
