// SPDX-License-Identifier: Apache-2.0
package io.ferry;

/** How far a task's run has come: Request.progress(). */
public interface Progress {
  /**
   * A part of the work is done: a tile of a large image, a hole that was painted, a line that was read. Told in the
   * thread that runs the task, which goes on when this returns. Of the task it may call cancel() alone. What it throws
   * ends the run, and is thrown by Task.run().
   */
  void onProgress(int done, int total);
}
