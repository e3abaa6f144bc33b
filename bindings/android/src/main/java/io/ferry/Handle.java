// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.io.Closeable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * A native pointer that is freed once and not used afterwards. A call holds the lock `use`, a close the lock `end`; the
 * two locks define which calls exclude each other.
 */
abstract class Handle implements Closeable {
  /** A cancelled run ends within an operator; a run that had not begun must be cancelled again. */
  private static final long CANCEL_AGAIN_MS = 2;

  private final String what;
  private final Lock use;
  private final Lock end;
  /** Held while the pointer is freed or cancelled; cancelling does not wait for calls. */
  private final Object life = new Object();
  private long pointer;
  private volatile boolean closing;
  /**
   * The thread whose call may call back into Java. The locks are reentrant, so its further calls are refused
   * explicitly.
   */
  private volatile @Nullable Thread calledBack;

  Handle(String what, long pointer, Lock use, Lock end) {
    this.what = what;
    this.pointer = pointer;
    this.use = use;
    this.end = end;
  }

  abstract void free(long pointer);

  abstract void stop(long pointer);

  /** The pointer, valid until done(). IllegalStateException: it is closed or being closed. */
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

  /** Called between begin() and done(). */
  final void callsBack(boolean begins) {
    calledBack = begins ? Thread.currentThread() : null;
  }

  private void refuseFromWithin(String deed) {
    if (calledBack == Thread.currentThread()) {
      throw new IllegalStateException("this " + what + " is running: its progress callback cannot " + deed
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
   * Frees the native object; a second call does nothing. Any thread may close: the call in progress is cancelled and
   * waited for. Waiting and later calls fail.
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
        interrupted = true; // restored at the end, after closing
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
