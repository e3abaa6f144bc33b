// SPDX-License-Identifier: Apache-2.0
package io.ferry;

/** What a check of a GPU's kernels found: Session.checkKernels(). */
public final class KernelCheck {
  private final int kernels;
  private final int checked;
  private final int failures;
  private final long replays;

  KernelCheck(Parcel parcel) {
    kernels = parcel.integer();
    checked = parcel.integer();
    failures = parcel.integer();
    replays = (long) parcel.number();
  }

  /** Different kernels and sizes that the session uses on its GPU. */
  public int kernels() {
    return kernels;
  }

  /** Of these, with a verdict. Less than kernels(): the time was over, and another call goes on. */
  public int checked() {
    return checked;
  }

  /** Found wrong by this call. The session uses other kernels or the CPU instead; its report has a note. */
  public int failures() {
    return failures;
  }

  /** Runs of kernels by this call. */
  public long replays() {
    return replays;
  }
}
