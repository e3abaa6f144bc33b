// SPDX-License-Identifier: Apache-2.0
package androidx.camera.core;

/** In place of androidx.camera:camera-core, for tests without Maven. */
public interface ImageInfo {
  int getRotationDegrees();
}
