// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import org.jspecify.annotations.Nullable;

/**
 * A folder of blobs that an app has downloaded or unpacked, for models that are too large for an APK. A blob is visible
 * under its name only when all of its bytes were written and compared with the converter's checksum.
 *
 * <pre>
 * ModelStore store = Models.store(context); // of io.ferry.android
 * if (!store.has("chat.ferry")) store.install("chat.ferry", connection.getInputStream(), length, null);
 * try (Model model = store.open("chat.ferry")) { ... }
 * </pre>
 *
 * Calls read and write files: use a Worker. Different names may be used by different threads at once.
 */
public final class ModelStore {
  private static final int BUFFER = 1 << 20;
  private static final String PART = ".part";

  private final File folder;

  /** The folder is created by install(). */
  public ModelStore(File folder) {
    this.folder = folder;
  }

  /** The blob's file, which may not exist. */
  public File file(String name) {
    if (name.isEmpty() || name.startsWith(".") || name.indexOf('/') >= 0 || name.indexOf('\\') >= 0) {
      throw new IllegalArgumentException("'" + name + "' is not a plain file name");
    }
    return new File(folder, name);
  }

  public boolean has(String name) {
    return file(name).isFile();
  }

  /** Opens and maps a blob. FerryException, IO_ERROR: there is none of this name. */
  public Model open(String name) {
    return Model.open(file(name).getPath());
  }

  /**
   * Copies a blob from a stream to the end of it, checks it with Model.check(), and replaces a former blob of this
   * name. Models that are open keep the former one. On failure, and if the thread is interrupted, nothing is left
   * behind.
   *
   * @param length bytes that the stream has, or -1 if unknown
   * @param progress called for each MiB with MiB done and in total (-1 if unknown); an exception from it ends the copy
   * @throws IOException too few or too many bytes, no space, or an error of the stream or the file
   * @throws FerryException CORRUPT and the like: these bytes are not a whole blob
   */
  public File install(String name, InputStream from, long length, @Nullable Progress progress) throws IOException {
    File to = file(name);
    if (!folder.isDirectory() && !folder.mkdirs()) throw new IOException("the folder " + folder + " cannot be created");
    if (length > folder.getUsableSpace()) {
      throw new IOException(name + " has " + length + " bytes, but only " + folder.getUsableSpace() + " are free in "
          + folder);
    }
    File part = new File(folder, name + PART);
    boolean whole = false;
    try {
      copy(from, part, length, progress);
      try (Model model = Model.open(part.getPath())) {
        model.check();
      }
      if (!part.renameTo(to)) throw new IOException(part + " cannot be renamed to " + to);
      whole = true;
    } finally {
      if (!whole) part.delete();
    }
    return to;
  }

  private static void copy(InputStream from, File to, long length, @Nullable Progress progress) throws IOException {
    byte[] buffer = new byte[BUFFER];
    long done = 0;
    try (FileOutputStream out = new FileOutputStream(to)) {
      for (int count = from.read(buffer); count >= 0; count = from.read(buffer)) {
        if (Thread.interrupted()) throw new InterruptedIOException("interrupted after " + done + " bytes");
        out.write(buffer, 0, count);
        long before = done;
        done += count;
        if (progress != null && done / BUFFER != before / BUFFER) {
          progress.onProgress((int) (done / BUFFER), length < 0 ? -1 : (int) (length / BUFFER));
        }
      }
      out.getFD().sync(); // before the rename, or a power cut leaves an empty file under the name
    }
    if (length >= 0 && done != length) throw new IOException("the stream has " + done + " bytes, not " + length);
  }

  /** Deletes a blob; models that are open stay usable. Returns whether there was one. */
  public boolean delete(String name) {
    return file(name).delete();
  }
}
