// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What a model is for: an image in, the answer in its pixels out: Model.task(). One thread at a time uses it, a second
 * one waits. Worker keeps it off an app's main thread.
 */
public final class Task extends Handle {
  @SuppressWarnings("unused") // held: Model.memory
  private final Object memory;

  Task(long pointer, Object memory) {
    this(pointer, memory, new ReentrantLock(true));
  }

  private Task(long pointer, Object memory, Lock lock) {
    super("task", pointer, lock, lock);
    this.memory = memory;
  }

  /** Runs the network, or several. FerryException, CANCELLED: by cancel() or close(). What Progress throws. */
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

  /** Makes the run in progress end; without one it does nothing. Any thread. */
  public void cancel() {
    cancelCall();
  }

  /** Where the task's first network runs. */
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
