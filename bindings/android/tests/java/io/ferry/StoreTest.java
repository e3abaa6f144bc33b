// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/** ModelStore: blobs that an app has downloaded. */
final class StoreTest {
  private interface Job {
    void run(ModelStore store, File folder) throws Exception;
  }

  private StoreTest() {}

  /** In a folder that does not exist yet; the job leaves only whole blobs in it. */
  private static void in(Job job) throws Exception {
    File top = Files.createTempDirectory("ferry-store").toFile();
    File folder = new File(top, "models");
    job.run(new ModelStore(folder), folder);
    String[] names = folder.list();
    for (String name : names == null ? new String[0] : names) {
      Tests.check(name.endsWith(".ferry"), name + " was left behind");
      Tests.check(new File(folder, name).delete(), name);
    }
    folder.delete();
    top.delete();
  }

  private static ByteArrayInputStream stream(byte[] bytes) {
    return new ByteArrayInputStream(bytes);
  }

  public static void aBlobIsInstalledOpenedReplacedAndDeleted() throws Exception {
    byte[] blob = Tests.bytes(Tests.blob("classifier"));
    in((store, folder) -> {
      Tests.check(!store.has("m.ferry"), "there is one already");
      Tests.refused(FerryException.Status.IO_ERROR, "m.ferry", () -> store.open("m.ferry"));
      Tests.equal(store.file("m.ferry"), store.install("m.ferry", stream(blob), blob.length, null));
      store.install("m.ferry", stream(blob), -1, null);
      Tests.check(store.has("m.ferry"), "there is none");
      try (Model model = store.open("m.ferry")) {
        Tests.check(store.delete("m.ferry") && !store.has("m.ferry") && !store.delete("m.ferry"), "not deleted once");
        model.check();
      }
    });
  }

  public static void damagedAndIncompleteBlobsLeaveTheFormerOne() throws Exception {
    byte[] blob = Tests.bytes(Tests.blob("classifier"));
    in((store, folder) -> {
      store.install("m.ferry", stream(blob), blob.length, null);
      byte[] damaged = blob.clone();
      damaged[blob.length - 1000] ^= 1;
      Tests.refused(FerryException.Status.CORRUPT, "", () -> store.install("m.ferry", stream(damaged), -1, null));
      byte[] half = java.util.Arrays.copyOf(blob, blob.length / 2);
      Tests.refused(IOException.class, "bytes, not " + blob.length,
          () -> store.install("m.ferry", stream(half), blob.length, null));
      Tests.refused(FerryException.class, "", () -> store.install("m.ferry", stream(half), -1, null));
      Tests.refused(IOException.class, "are free", () -> store.install("m.ferry", stream(blob), 1L << 60, null));
      Tests.refused(IOException.class, "broken", () -> store.install("m.ferry", new FilterInputStream(stream(blob)) {
        @Override
        public int read(byte[] to, int offset, int length) throws IOException {
          throw new IOException("broken");
        }
      }, -1, null));
      Thread.currentThread().interrupt();
      Tests.refused(InterruptedIOException.class, "", () -> store.install("m.ferry", stream(blob), -1, null));
      Tests.equal(1, folder.list().length);
      store.open("m.ferry").close();
    });
  }

  public static void progressIsInMebibytes() throws Exception {
    byte[] noise = new byte[(3 << 20) + 5];
    List<Integer> calls = new ArrayList<>();
    in((store, folder) -> {
      Tests.refused(FerryException.class, "", () -> store.install("m.ferry", stream(noise), noise.length,
          (done, total) -> calls.add(10 * done + total)));
      Tests.equal(java.util.Arrays.asList(13, 23, 33), calls);
      Tests.refused(IllegalStateException.class, "enough", () -> store.install("m.ferry", stream(noise), -1,
          (done, total) -> {
            throw new IllegalStateException("enough");
          }));
    });
  }

  public static void namesArePlain() throws Exception {
    in((store, folder) -> {
      for (String name : new String[] {"", ".", "..", "../m.ferry", "a/b", "a\\b", ".hidden"}) {
        Tests.refused(IllegalArgumentException.class, "not a plain file name", () -> store.file(name));
      }
    });
  }
}
