// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A task: an image as input, an answer in its pixels as output, from Model.task(). Calls of several threads wait for
 * each other. Use a Worker to keep it off an app's main thread.
 */
public final class Task extends Handle {
  @SuppressWarnings("unused") // keeps it alive: Model.memory
  private final @Nullable Object memory;

  Task(long pointer, @Nullable Object memory) {
    this(pointer, memory, new ReentrantLock(true));
  }

  private Task(long pointer, @Nullable Object memory, Lock lock) {
    super("task", pointer, lock, lock);
    this.memory = memory;
  }

  /**
   * Runs the network, or several. FerryException, CANCELLED: by cancel() or close(). An exception of Progress is thrown
   * here.
   */
  public Answer run(Request request) {
    Parcel parcel = new Parcel();
    long task = begin();
    try {
      callsBack(true);
      Native.check(request.run(task, parcel));
    } finally {
      callsBack(false);
      done();
    }
    return Answer.of(parcel);
  }

  /** Ends a run in progress; does nothing without one. Any thread. */
  public void cancel() {
    cancelCall();
  }

  /** Where the session of the model's graph runs. */
  public Report report() {
    Parcel parcel = new Parcel();
    long task = begin();
    try {
      Native.check(Native.report(Native.taskSession(task), parcel));
    } finally {
      done();
    }
    return new Report(parcel);
  }

  @Override
  void free(long pointer) {
    Native.closeTask(pointer);
  }

  @Override
  void stop(long pointer) {
    Native.cancelTask(pointer);
  }
}
