// SPDX-License-Identifier: Apache-2.0
package androidx.camera.core;

import android.graphics.Rect;
import java.nio.ByteBuffer;

/** In place of androidx.camera:camera-core, for tests without Maven. */
public interface ImageProxy extends AutoCloseable {
  interface PlaneProxy {
    int getRowStride();

    int getPixelStride();

    ByteBuffer getBuffer();
  }

  @Override
  void close();

  Rect getCropRect();

  int getFormat();

  int getWidth();

  int getHeight();

  PlaneProxy[] getPlanes();

  ImageInfo getImageInfo();
}
