// SPDX-License-Identifier: Apache-2.0
package io.ferry.android;

import android.graphics.Bitmap;
import android.graphics.ImageFormat;
import android.graphics.Rect;
import android.media.Image;
import io.ferry.Frame;
import java.nio.ByteBuffer;

/** Converts Android's images to frames. */
public final class Frames {
  private Frames() {}

  /**
   * An image of ImageReader or MediaCodec in YUV_420_888, without a copy. Close the image only after the call that uses
   * the frame.
   *
   * @param rotation degrees clockwise to upright: Frame.rotation()
   * @param mirror swap left and right, as in a front camera's preview
   */
  public static Frame of(Image image, int rotation, boolean mirror) {
    if (image.getFormat() != ImageFormat.YUV_420_888) {
      throw new IllegalArgumentException("the image has format " + image.getFormat() + ": must be YUV_420_888");
    }
    Rect crop = image.getCropRect();
    Frame.Builder frame = new Frame.Builder(Frame.Format.YUV420, image.getWidth(), image.getHeight())
        .rotation(rotation).mirror(mirror).crop(crop.left, crop.top, crop.width(), crop.height());
    for (Image.Plane plane : image.getPlanes()) {
      frame.plane(plane.getBuffer(), plane.getRowStride(), plane.getPixelStride());
    }
    return frame.build();
  }

  /** A copy of a bitmap's pixels (ARGB_8888, in the app's memory). */
  public static Frame of(Bitmap bitmap) {
    if (bitmap.getConfig() != Bitmap.Config.ARGB_8888) {
      throw new IllegalArgumentException("the bitmap is " + bitmap.getConfig() + ": copy it as ARGB_8888");
    }
    ByteBuffer pixels = ByteBuffer.allocateDirect(bitmap.getRowBytes() * bitmap.getHeight());
    bitmap.copyPixelsToBuffer(pixels);
    pixels.rewind();
    return new Frame.Builder(Frame.Format.RGBA, bitmap.getWidth(), bitmap.getHeight())
        .plane(pixels, bitmap.getRowBytes(), 4).build();
  }
}
