// SPDX-License-Identifier: Apache-2.0
package io.ferry.android;

import android.content.res.AssetFileDescriptor;
import android.content.res.AssetManager;
import io.ferry.Model;
import java.io.FileNotFoundException;
import java.io.IOException;

/** Opens blobs among an app's assets in the APK, without copying or unpacking them. */
public final class Assets {
  private Assets() {}

  /**
   * IOException: there is no such asset, or it is compressed. Set `androidResources { noCompress += "ferry" }` in
   * Gradle.
   */
  public static Model open(AssetManager assets, String name) throws IOException {
    AssetFileDescriptor asset;
    try {
      asset = assets.openFd(name);
    } catch (FileNotFoundException e) { // whose message is often only the name
      throw new IOException("asset '" + name + "' is not in this app, or is compressed: androidResources { noCompress +="
          + " \"ferry\" } keeps it as it is", e);
    }
    try {
      return open(asset);
    } finally {
      asset.close();
    }
  }

  /** The descriptor may be closed afterwards. */
  public static Model open(AssetFileDescriptor asset) {
    return Model.open(asset.getParcelFileDescriptor().getFd(), asset.getStartOffset(), asset.getDeclaredLength());
  }
}
