// SPDX-License-Identifier: Apache-2.0
package io.ferry.android;

import android.content.res.AssetFileDescriptor;
import android.content.res.AssetManager;
import io.ferry.Model;
import java.io.FileNotFoundException;
import java.io.IOException;

/** Blobs among an app's assets, used where they lie in the APK: nothing is copied or unpacked. */
public final class Assets {
  private Assets() {}

  /**
   * IOException: there is no such asset, or it is stored compressed, which Gradle is told not to do by
   * `androidResources { noCompress += "ferry" }`.
   */
  public static Model open(AssetManager assets, String name) throws IOException {
    AssetFileDescriptor asset;
    try {
      asset = assets.openFd(name);
    } catch (FileNotFoundException e) { // whose message is often the name alone
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
