// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Where a session runs, and why. */
public final class Report {
  private final SessionOptions.Backend backend;
  private final SessionOptions.Precision precision;
  private final String message;
  private final String device;
  private final String driver;
  private final String cpus;
  private final int threads;
  private final int gpuOperators;
  private final int cpuOperators;
  private final long arenaBytes;
  private final long packedBytes;
  private final long watchedRuns;
  private final List<String> notes;

  Report(Parcel parcel) {
    backend = SessionOptions.Backend.values()[parcel.integer()];
    precision = SessionOptions.Precision.values()[parcel.integer()];
    threads = parcel.integer();
    gpuOperators = parcel.integer();
    cpuOperators = parcel.integer();
    arenaBytes = (long) parcel.number();
    packedBytes = (long) parcel.number();
    watchedRuns = (long) parcel.number();
    message = parcel.text();
    device = parcel.text();
    driver = parcel.text();
    cpus = parcel.text();
    List<String> all = new ArrayList<String>();
    for (int count = parcel.integer(); count > 0; --count) all.add(parcel.text());
    notes = Collections.unmodifiableList(all);
  }

  /** Backend of the last run; before the first run, of the next. */
  public SessionOptions.Backend backend() {
    return backend;
  }

  public SessionOptions.Precision precision() {
    return precision;
  }

  /** Why a requested GPU is not used; "" otherwise. */
  public String message() {
    return message;
  }

  /** The GPU's name; "" on the CPU. */
  public String device() {
    return device;
  }

  public String driver() {
    return driver;
  }

  /** CPUs of its threads, "0-3,6"; "" if the system does not report them. */
  public String cpus() {
    return cpus;
  }

  /** Including the caller's thread. */
  public int threads() {
    return threads;
  }

  public int gpuOperators() {
    return gpuOperators;
  }

  public int cpuOperators() {
    return cpuOperators;
  }

  public long arenaBytes() {
    return arenaBytes;
  }

  public long packedBytes() {
    return packedBytes;
  }

  /** Runs in which the CPU computed rows of an operator again: SessionOptions.gpuWatch(). */
  public long watchedRuns() {
    return watchedRuns;
  }

  /** Deviations from the plan, one sentence each. */
  public List<String> notes() {
    return notes;
  }
}
