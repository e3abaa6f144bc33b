// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * An image of a camera or a decoder, in direct buffers. It is not copied: the buffers must be valid until the call that
 * uses the frame returns.
 *
 * <pre>
 * Frame frame = new Frame.Builder(Frame.Format.NV21, 640, 480)
 *     .plane(luma, 640, 1).plane(chroma, 640, 2).rotation(90).build();
 * </pre>
 *
 * io.ferry.android.Frames converts an android.media.Image.
 */
public final class Frame {
  /** In the order of ferry_frame_format, which begins at 1. */
  public enum Format {
    /** Y, U, V with any pixel strides: Android's YUV_420_888. */
    YUV420,
    NV12,
    NV21,
    P010,
    YUY2,
    RGBA,
    BGRA,
    RGB,
    /** Luma only. */
    GRAY
  }

  /** Value range of YUV and grey: 0 to 255, or 16 to 235. */
  public enum Range { FULL, LIMITED }

  public enum Matrix { BT601, BT709, BT2020 }

  private static final int PLANES = 3;

  private final int[] numbers;
  private final @Nullable ByteBuffer[] planes;
  private final int width;
  private final int height;

  private Frame(Builder builder) {
    Builder b = builder;
    numbers = new int[] {b.format.ordinal() + 1, b.width, b.height, b.rotation, b.mirror ? 1 : 0, b.range.ordinal(),
        b.matrix.ordinal(), b.cropLeft, b.cropTop, b.cropWidth, b.cropHeight, b.strides[0], b.strides[1], b.strides[2],
        b.strides[3], b.strides[4], b.strides[5]};
    planes = b.planes.clone();
    Parcel size = new Parcel();
    Native.check(Native.frameSize(numbers, planes[0], planes[1], planes[2], size));
    width = size.integer();
    height = size.integer();
  }

  /** Size of the resulting upright image; locations in answers refer to it. */
  public int width() {
    return width;
  }

  public int height() {
    return height;
  }

  /** In the layout that jni/arguments.cc reads. */
  int[] numbers() {
    return numbers;
  }

  @Nullable ByteBuffer plane(int index) {
    return planes[index];
  }

  /**
   * Degrees clockwise by which a camera's frames are rotated to be upright on the display.
   *
   * @param sensor CameraCharacteristics.SENSOR_ORIENTATION
   * @param display degrees of Display.getRotation(): 0, 90, 180, 270
   * @param front whether the camera faces the user
   */
  public static int rotation(int sensor, int display, boolean front) {
    return ((front ? sensor + display : sensor - display) % 360 + 360) % 360;
  }

  /** Builds a frame. Defaults: the whole frame, not rotated, BT.601 in full range. */
  public static final class Builder {
    private final Format format;
    private final int width;
    private final int height;
    private final @Nullable ByteBuffer[] planes = new @Nullable ByteBuffer[PLANES];
    private final int[] strides = new int[2 * PLANES];
    private int count;
    private int rotation;
    private boolean mirror;
    private Range range = Range.FULL;
    private Matrix matrix = Matrix.BT601;
    private int cropLeft;
    private int cropTop;
    private int cropWidth;
    private int cropHeight;

    /** Width and height in pixels, before rotation. */
    public Builder(Format format, int width, int height) {
      this.format = format;
      this.width = width;
      this.height = height;
    }

    /**
     * Adds the next plane, from the buffer's position to its limit. Strides are bytes from one row to the next, and
     * from one sample, pair or pixel to the next; 0: no gaps.
     */
    public Builder plane(ByteBuffer buffer, int rowStride, int pixelStride) {
      if (count == PLANES) throw new IllegalArgumentException("a frame has at most " + PLANES + " planes");
      planes[count] = Native.direct("plane " + count, buffer);
      strides[count] = rowStride;
      strides[PLANES + count] = pixelStride;
      ++count;
      return this;
    }

    /** 0, 90, 180 or 270: degrees clockwise to upright. */
    public Builder rotation(int degrees) {
      rotation = degrees;
      return this;
    }

    /** Swaps left and right after rotation, as in a front camera's preview. */
    public Builder mirror(boolean value) {
      mirror = value;
      return this;
    }

    public Builder range(Range value) {
      range = value;
      return this;
    }

    public Builder matrix(Matrix value) {
      matrix = value;
      return this;
    }

    /** The part of the frame to use, in pixels before rotation. */
    public Builder crop(int left, int top, int cropWidth, int cropHeight) {
      cropLeft = left;
      cropTop = top;
      this.cropWidth = cropWidth;
      this.cropHeight = cropHeight;
      return this;
    }

    /** FerryException, INVALID_ARGUMENT: a plane is too small, a stride or a format is invalid, and the like. */
    public Frame build() {
      return new Frame(this);
    }
  }
}
