// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Where a session runs, and why not elsewhere. */
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
  private final List<String> notes;

  Report(Parcel parcel) {
    backend = SessionOptions.Backend.values()[parcel.integer()];
    precision = SessionOptions.Precision.values()[parcel.integer()];
    threads = parcel.integer();
    gpuOperators = parcel.integer();
    cpuOperators = parcel.integer();
    arenaBytes = (long) parcel.number();
    packedBytes = (long) parcel.number();
    message = parcel.text();
    device = parcel.text();
    driver = parcel.text();
    cpus = parcel.text();
    List<String> all = new ArrayList<String>();
    for (int count = parcel.integer(); count > 0; --count) all.add(parcel.text());
    notes = Collections.unmodifiableList(all);
  }

  /** Where the last run was done; where the next one will be if there was none yet. */
  public SessionOptions.Backend backend() {
    return backend;
  }

  public SessionOptions.Precision precision() {
    return precision;
  }

  /** Why a GPU that was asked for is not used; "" where it is, or none was. */
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

  /** That its threads keep to, "0-3,6"; "" where the system does not say. */
  public String cpus() {
    return cpus;
  }

  /** Including the caller's. */
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

  /** What went otherwise than planned, a sentence each. */
  public List<String> notes() {
    return notes;
  }
}
