// SPDX-License-Identifier: Apache-2.0
package io.ferry;

/** Progress of a task's run: Request.progress(). */
public interface Progress {
  /**
   * Called after each part of the work: a tile of a large image, an inpainted hole, a recognised line. It runs in the
   * task's thread, which continues when it returns. It may call the task's cancel(), but no other method of it. An
   * exception ends the run and is thrown by Task.run().
   */
  void onProgress(int done, int total);
}
