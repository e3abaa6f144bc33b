// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/** A tensor's name, type and shape. Shapes are channels last: an image is [batch, height, width, channels]. */
public final class TensorInfo {
  /** Inputs and outputs are FLOAT32 or INT32. */
  public enum Type { FLOAT32, FLOAT16, OTHER, INT8, UINT8, INT32, INT64 }

  private final String name;
  private final Type type;
  private final int[] shape;
  private final long bytes;
  private final boolean channelsFirst;

  private TensorInfo(Parcel parcel) {
    name = parcel.text();
    type = Type.values()[parcel.integer()];
    bytes = (long) parcel.number();
    channelsFirst = parcel.truth();
    shape = new int[parcel.integer()];
    for (int i = 0; i < shape.length; ++i) shape[i] = parcel.integer();
  }

  static TensorInfo one(Parcel parcel) {
    return new TensorInfo(parcel);
  }

  static List<TensorInfo> all(Parcel parcel) {
    List<TensorInfo> out = new ArrayList<TensorInfo>();
    for (int count = parcel.integer(); count > 0; --count) out.add(new TensorInfo(parcel));
    return Collections.unmodifiableList(out);
  }

  /** The framework's name. */
  public String name() {
    return name;
  }

  public Type type() {
    return type;
  }

  public int[] shape() {
    return shape.clone();
  }

  public long bytes() {
    return bytes;
  }

  /** A direct buffer for the tensor, in native byte order, zeroed. */
  public ByteBuffer allocate() {
    if (bytes > Integer.MAX_VALUE) throw new IllegalStateException(this + " is larger than a ByteBuffer can be");
    return ByteBuffer.allocateDirect((int) bytes).order(ByteOrder.nativeOrder());
  }

  /** Whether it is [batch, channels, ...] in the framework that trained the model. */
  public boolean channelsFirst() {
    return channelsFirst;
  }

  @Override
  public String toString() {
    return Ferry.printable(name, false) + ": " + type + " " + Arrays.toString(shape);
  }
}
