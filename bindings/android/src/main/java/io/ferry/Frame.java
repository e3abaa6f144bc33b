// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;

/**
 * An image as a camera or a decoder gives it, in direct buffers of its own: no copy is made, so they must hold it
 * until the call that takes the frame has ended.
 *
 * <pre>
 * Frame frame = new Frame.Builder(Frame.Format.NV21, 640, 480)
 *     .plane(luma, 640, 1).plane(chroma, 640, 2).rotation(90).build();
 * </pre>
 *
 * io.ferry.android.Frames makes one of an android.media.Image.
 */
public final class Frame {
  /** In the order of ferry_frame_format, which begins at 1. */
  public enum Format {
    /** Y, U, V; any pixel strides: Android's YUV_420_888. */
    YUV420,
    NV12,
    NV21,
    P010,
    YUY2,
    RGBA,
    BGRA,
    RGB,
    /** Luma alone. */
    GRAY
  }

  /** Of YUV and grey: 0 to 255, or 16 to 235. */
  public enum Range { FULL, LIMITED }

  public enum Matrix { BT601, BT709, BT2020 }

  private static final int PLANES = 3;

  private final int[] numbers;
  private final ByteBuffer[] planes;
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

  /** Of the image that results, upright: answers' places are places in it. */
  public int width() {
    return width;
  }

  public int height() {
    return height;
  }

  /** As jni/arguments.cc reads them. */
  int[] numbers() {
    return numbers;
  }

  ByteBuffer plane(int index) {
    return planes[index];
  }

  /**
   * By how many degrees, clockwise, a camera's frames are turned to stand upright on the display.
   *
   * @param sensor CameraCharacteristics.SENSOR_ORIENTATION
   * @param display degrees of Display.getRotation(): 0, 90, 180, 270
   * @param front does the camera look to where the display shows?
   */
  public static int rotation(int sensor, int display, boolean front) {
    return ((front ? sensor + display : sensor - display) % 360 + 360) % 360;
  }

  /** Collects what a frame is; what is not set is the whole frame as it lies in memory, BT.601 in full range. */
  public static final class Builder {
    private final Format format;
    private final int width;
    private final int height;
    private final ByteBuffer[] planes = new ByteBuffer[PLANES];
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

    /** Width and height in pixels, as they lie in memory. */
    public Builder(Format format, int width, int height) {
      this.format = format;
      this.width = width;
      this.height = height;
    }

    /**
     * The next plane, from the buffer's position to its limit. Strides are the bytes from one row to the next, and from
     * one sample, pair or pixel; 0: no gaps.
     */
    public Builder plane(ByteBuffer buffer, int rowStride, int pixelStride) {
      if (count == PLANES) throw new IllegalArgumentException("a frame has at most " + PLANES + " planes");
      planes[count] = Native.direct("plane " + count, buffer);
      strides[count] = rowStride;
      strides[PLANES + count] = pixelStride;
      ++count;
      return this;
    }

    /** 0, 90, 180 or 270: degrees clockwise that turn it upright. */
    public Builder rotation(int degrees) {
      rotation = degrees;
      return this;
    }

    /** Then left and right change sides, as in a front camera's preview. */
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

    /** The part that is the image, in pixels as they lie in memory. */
    public Builder crop(int left, int top, int cropWidth, int cropHeight) {
      cropLeft = left;
      cropTop = top;
      this.cropWidth = cropWidth;
      this.cropHeight = cropHeight;
      return this;
    }

    /** FerryException, INVALID_ARGUMENT: what a plane says of its size is not so, and the like. */
    public Frame build() {
      return new Frame(this);
    }
  }
}
