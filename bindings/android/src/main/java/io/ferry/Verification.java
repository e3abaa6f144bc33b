// SPDX-License-Identifier: Apache-2.0
package io.ferry;

/** Result of checking a blob's certificates on this device: Model.verify(). */
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

  /** Outputs and taps compared, in all graphs. */
  public int stageCount() {
    return stageCount;
  }

  /** The first stage out of bounds; if passed, the one nearest to its bound. */
  public String stage() {
    return stage;
  }

  /** Maximum error of that stage's samples, relative to the reference's absolute maximum if the bound is relative. */
  public double error() {
    return error;
  }

  public double bound() {
    return bound;
  }

  /** Error measured by the converter, on its CPU. */
  public double errorAtConversion() {
    return errorAtConversion;
  }

  /** Name of the reference run. */
  public String fixture() {
    return fixture;
  }

  /** The library that computed it, "timm 1.0.29". */
  public String library() {
    return library;
  }

  /** The graph of stage(). */
  public String graph() {
    return graph;
  }
}
