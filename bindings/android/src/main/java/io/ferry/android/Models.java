// SPDX-License-Identifier: Apache-2.0
package io.ferry.android;

import android.content.Context;
import io.ferry.Model;
import io.ferry.ModelStore;
import java.io.File;
import java.io.IOException;

/** Finds an app's blobs, in files or in the APK. Blobs of language models are usually too large for an APK. */
public final class Models {
  private Models() {}

  /** The app's own blobs, in its internal storage: not in backups, removed with the app. */
  public static ModelStore store(Context context) {
    return new ModelStore(new File(context.getNoBackupFilesDir(), "ferry"));
  }

  /**
   * Opens the first blob of this name that exists in `folders`, in store(), or among the assets. A folder is, for
   * example, AssetPackLocation.assetsPath() of an asset pack delivered fast-follow or on demand; packs of install time
   * are among the assets.
   *
   * @throws IOException it is nowhere
   */
  public static Model open(Context context, String name, File... folders) throws IOException {
    for (File folder : folders) {
      File file = new File(folder, name);
      if (file.isFile()) return Model.open(file.getPath());
    }
    ModelStore store = store(context);
    return store.has(name) ? store.open(name) : Assets.open(context.getAssets(), name);
  }
}
