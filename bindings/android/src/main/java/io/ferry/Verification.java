// SPDX-License-Identifier: Apache-2.0
package io.ferry;

/** What became of a blob's certificates on this device: Model.verify(). */
public final class Verification {
  private final boolean passed;
  private final int stageCount;
  private final String stage;
  private final double error;
  private final double bound;
  private final double errorAtConversion;
  private final String fixture;
  private final String library;
  private final String graph;

  Verification(Parcel parcel) {
    passed = parcel.truth();
    stageCount = parcel.integer();
    error = parcel.number();
    bound = parcel.number();
    errorAtConversion = parcel.number();
    stage = parcel.text();
    fixture = parcel.text();
    library = parcel.text();
    graph = parcel.text();
  }

  /** Every stage is within its bound. */
  public boolean passed() {
    return passed;
  }

  /** Outputs and taps that were compared, of all graphs. */
  public int stageCount() {
    return stageCount;
  }

  /** The first out of bounds; where passed, the one nearest to its bound. */
  public String stage() {
    return stage;
  }

  /** There: of the samples, over the reference's absolute maximum where the bound is relative. */
  public double error() {
    return error;
  }

  public double bound() {
    return bound;
  }

  /** What the converter measured there, on its CPU. */
  public double errorAtConversion() {
    return errorAtConversion;
  }

  /** The reference run's name. */
  public String fixture() {
    return fixture;
  }

  /** That made it: "timm 1.0.29". */
  public String library() {
    return library;
  }

  /** The graph that gives stage(). */
  public String graph() {
    return graph;
  }
}
