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
import org.jspecify.annotations.Nullable;

/**
 * A thread for slow calls (opening a model, creating, running and closing a task), to keep them off an app's main
 * thread. Tasks run one after another, in the order of submission.
 *
 * <pre>
 * if (worker.pending() > 0) return; // drop a camera frame while busy
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

  /** Runs the task and calls the listener. IllegalStateException: the worker is closed. */
  public <T extends @Nullable Object> void submit(final Callable<T> work, final Listener<? super T> listener) {
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

  /** The same without a result; exceptions go to the thread's handler of uncaught exceptions. */
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

  /** Number of tasks that have not ended, including their listeners' calls. */
  public int pending() {
    return pending.get();
  }

  /** Refuses further tasks; the thread ends after the submitted ones. Does not wait. */
  @Override
  public void close() {
    thread.shutdown();
  }
}
