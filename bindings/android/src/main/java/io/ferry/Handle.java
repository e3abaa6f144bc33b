// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.io.Closeable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/**
 * A pointer of the library's: closed once, and never used after that. A call takes `use` for its time, a close takes
 * `end`; which of them exclude each other is what the two locks say.
 */
abstract class Handle implements Closeable {
  /** A cancelled run ends within an operator; one that had not begun when it was cancelled needs telling again. */
  private static final long CANCEL_AGAIN_MS = 2;

  private final String what;
  private final Lock use;
  private final Lock end;
  /** Held where the pointer goes, and where it is cancelled, which waits for no call. */
  private final Object life = new Object();
  private long pointer;
  private volatile boolean closing;
  /** The thread whose call may call Java back; the locks let it in again, where it must not be. */
  private volatile Thread calledBack;

  Handle(String what, long pointer, Lock use, Lock end) {
    this.what = what;
    this.pointer = pointer;
    this.use = use;
    this.end = end;
  }

  abstract void free(long pointer);

  abstract void stop(long pointer);

  /** The pointer, until done(). IllegalStateException where it is closed, or being closed. */
  final long begin() {
    refuseFromWithin("use");
    use.lock();
    if (closing) {
      use.unlock();
      throw closed();
    }
    return pointer;
  }

  final void done() {
    use.unlock();
  }

  /** Between begin() and done(). */
  final void callsBack(boolean begins) {
    calledBack = begins ? Thread.currentThread() : null;
  }

  private void refuseFromWithin(String deed) {
    if (calledBack == Thread.currentThread()) {
      throw new IllegalStateException("this " + what + " is at work: who is told of its progress cannot " + deed
          + " it, but may cancel it");
    }
  }

  final void cancelCall() {
    synchronized (life) {
      if (closing) throw closed();
      stop(pointer);
    }
  }

  private IllegalStateException closed() {
    return new IllegalStateException("this " + what + " is closed");
  }

  /**
   * Frees what it holds; a second call does nothing. Any thread may close: a call that is under way in another one is
   * cancelled, and its end is waited for; calls that wait for their turn fail as those that come later do.
   */
  @Override
  public void close() {
    refuseFromWithin("close");
    closing = true;
    boolean interrupted = false;
    for (boolean mine = false; !mine;) {
      synchronized (life) {
        if (pointer != 0) stop(pointer);
      }
      try {
        mine = end.tryLock(CANCEL_AGAIN_MS, TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        interrupted = true; // told to the caller at the end: nobody else would close
      }
    }
    try {
      synchronized (life) {
        if (pointer != 0) free(pointer);
        pointer = 0;
      }
    } finally {
      end.unlock();
    }
    if (interrupted) Thread.currentThread().interrupt();
  }
}
