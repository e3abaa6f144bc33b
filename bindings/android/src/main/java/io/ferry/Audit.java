// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Does a GPU compute a model's kernels in the same way each time? The result of Model.audit(). */
public final class Audit {
  private final boolean passed;
  private final double seconds;
  private final long runs;
  private final String device;
  private final String driver;
  private final String lost;
  private final List<Operator> operators;
  private final List<Sensor> sensors;

  Audit(Parcel parcel) {
    passed = parcel.truth();
    seconds = parcel.number();
    runs = (long) parcel.number();
    device = parcel.text();
    driver = parcel.text();
    lost = parcel.text();
    List<Operator> kernels = new ArrayList<Operator>();
    for (int count = parcel.integer(); count > 0; --count) kernels.add(new Operator(parcel));
    operators = Collections.unmodifiableList(kernels);
    List<Sensor> read = new ArrayList<Sensor>();
    for (int count = parcel.integer(); count > 0; --count) read.add(new Sensor(parcel));
    sensors = Collections.unmodifiableList(read);
  }

  /** No run differed, none was wrong, and the device was not lost. */
  public boolean passed() {
    return passed;
  }

  public double seconds() {
    return seconds;
  }

  public long runs() {
    return runs;
  }

  public String device() {
    return device;
  }

  public String driver() {
    return driver;
  }

  /** Why the audit ended early; "" if it did not. */
  public String lost() {
    return lost;
  }

  /** In the order of the network, one for each kernel and size. */
  public List<Operator> operators() {
    return operators;
  }

  /** Temperatures and clocks that the system lets an app read; often none. */
  public List<Sensor> sensors() {
    return sensors;
  }

  public static final class Operator {
    private final String name;
    private final String operator;
    private final String shape;
    private final String kernel;
    private final String problem;
    private final long runs;
    private final long differed;
    private final boolean compared;
    private final double error;

    private Operator(Parcel parcel) {
      name = parcel.text();
      operator = parcel.text();
      shape = parcel.text();
      kernel = parcel.text();
      problem = parcel.text();
      runs = (long) parcel.number();
      differed = (long) parcel.number();
      compared = parcel.truth();
      error = parcel.number();
    }

    /** The framework's module name; may be empty. */
    public String name() {
      return name;
    }

    /** For example "conv2d". */
    public String operator() {
      return operator;
    }

    /** Of its output, "[1,56,56,64]". */
    public String shape() {
      return shape;
    }

    /** The shader variant that ran. */
    public String kernel() {
      return kernel;
    }

    /** What is wrong with it; "" if nothing is but differed(). */
    public String problem() {
      return problem;
    }

    public long runs() {
      return runs;
    }

    /** Runs whose result differed in a bit from the run that others are compared with. */
    public long differed() {
      return differed;
    }

    /** With the CPU. */
    public boolean compared() {
      return compared;
    }

    /** The largest error against the CPU, as a fraction of what rounding explains; above 1: wrong. */
    public double error() {
      return error;
    }
  }

  /** A temperature or a clock. */
  public static final class Sensor {
    private final String name;
    private final String unit;
    private final double first;
    private final double lowest;
    private final double highest;
    private final double last;

    private Sensor(Parcel parcel) {
      name = parcel.text();
      unit = parcel.text();
      first = parcel.number();
      lowest = parcel.number();
      highest = parcel.number();
      last = parcel.number();
    }

    public String name() {
      return name;
    }

    /** "C" or "MHz". */
    public String unit() {
      return unit;
    }

    public double first() {
      return first;
    }

    public double lowest() {
      return lowest;
    }

    public double highest() {
      return highest;
    }

    public double last() {
      return last;
    }
  }
}
