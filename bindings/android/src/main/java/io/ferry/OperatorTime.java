// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** The time of one operator in a session's last run: Session.profile(). */
public final class OperatorTime {
  private final String name;
  private final String operator;
  private final String backend;
  private final double microseconds;
  private final int[] shape;

  private OperatorTime(Parcel parcel) {
    name = parcel.text();
    operator = parcel.text();
    backend = parcel.text();
    microseconds = parcel.number();
    shape = new int[parcel.integer()];
    for (int i = 0; i < shape.length; ++i) shape[i] = parcel.integer();
  }

  static List<OperatorTime> all(Parcel parcel) {
    List<OperatorTime> out = new ArrayList<OperatorTime>();
    for (int count = parcel.integer(); count > 0; --count) out.add(new OperatorTime(parcel));
    return Collections.unmodifiableList(out);
  }

  /** The framework's module name; may be empty. */
  public String name() {
    return name;
  }

  /** For example "conv2d". */
  public String operator() {
    return operator;
  }

  /** "cpu" or "gpu". */
  public String backend() {
    return backend;
  }

  public double microseconds() {
    return microseconds;
  }

  /** Shape of its first output, channels last. */
  public int[] shape() {
    return shape.clone();
  }

  @Override
  public String toString() {
    String where = Ferry.printable(name, false) + " " + Arrays.toString(shape);
    return operator + " " + where + ": " + microseconds + " us on the " + backend;
  }
}
