// SPDX-License-Identifier: Apache-2.0
package io.ferry.android;

import android.graphics.ImageFormat;
import android.graphics.PixelFormat;
import android.graphics.Rect;
import androidx.camera.core.ImageProxy;
import io.ferry.Frame;

/** Converts CameraX images to frames. For apps that depend on androidx.camera:camera-core themselves. */
public final class CameraXFrames {
  private CameraXFrames() {}

  /**
   * An image of ImageAnalysis, in YUV_420_888 or RGBA_8888, without a copy. Close the image only after the call that
   * uses the frame. Rotation and crop are the image's own.
   *
   * @param mirror swap left and right, as in a front camera's preview
   */
  public static Frame of(ImageProxy image, boolean mirror) {
    Frame.Format format;
    if (image.getFormat() == ImageFormat.YUV_420_888) {
      format = Frame.Format.YUV420;
    } else if (image.getFormat() == PixelFormat.RGBA_8888) {
      format = Frame.Format.RGBA;
    } else {
      throw new IllegalArgumentException("the image has format " + image.getFormat()
          + ": must be YUV_420_888 or RGBA_8888");
    }
    Rect crop = image.getCropRect();
    Frame.Builder frame = new Frame.Builder(format, image.getWidth(), image.getHeight())
        .rotation(image.getImageInfo().getRotationDegrees()).mirror(mirror)
        .crop(crop.left, crop.top, crop.width(), crop.height());
    for (ImageProxy.PlaneProxy plane : image.getPlanes()) {
      frame.plane(plane.getBuffer(), plane.getRowStride(), plane.getPixelStride());
    }
    return frame.build();
  }
}
