// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.io.Closeable;
import java.util.concurrent.Callable;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A thread for what takes its time (opening a model, preparing a task, running it, closing it), so that an app's main
 * thread does none of it. One piece of work after the other, in the order in which they came.
 *
 * <pre>
 * if (worker.pending() > 0) return; // a camera's frame that comes too early is left out
 * worker.submit(() -&gt; task.run(Request.of(frame)), listener);
 * </pre>
 */
public final class Worker implements Executor, Closeable {
  private final ExecutorService thread;
  private final AtomicInteger pending = new AtomicInteger();

  public Worker(final String name) {
    thread = Executors.newSingleThreadExecutor(new ThreadFactory() {
      @Override
      public Thread newThread(Runnable run) {
        Thread made = new Thread(run, name);
        made.setDaemon(true);
        return made;
      }
    });
  }

  /** Does the work, and tells the listener. IllegalStateException: the worker is closed. */
  public <T> void submit(final Callable<T> work, final Listener<? super T> listener) {
    execute(new Runnable() {
      @Override
      public void run() {
        T result;
        try {
          result = work.call();
        } catch (Exception failure) {
          listener.onFailure(failure);
          return;
        }
        listener.onResult(result);
      }
    });
  }

  /** The same for what has no result; what it throws goes to the thread's handler of uncaught exceptions. */
  @Override
  public void execute(final Runnable work) {
    pending.incrementAndGet();
    boolean taken = false;
    try {
      thread.execute(new Runnable() {
        @Override
        public void run() {
          try {
            work.run();
          } finally {
            pending.decrementAndGet();
          }
        }
      });
      taken = true;
    } catch (RejectedExecutionException e) {
      throw new IllegalStateException("this worker is closed");
    } finally {
      if (!taken) pending.decrementAndGet();
    }
  }

  /** Pieces of work that have not ended, nor their listeners' calls. */
  public int pending() {
    return pending.get();
  }

  /** Takes no more work; what was taken is still done, and then the thread ends. Waits for nothing. */
  @Override
  public void close() {
    thread.shutdown();
  }
}
