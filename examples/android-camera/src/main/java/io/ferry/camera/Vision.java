// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera;

import android.content.Context;
import android.media.Image;
import android.os.Handler;
import android.os.Looper;
import io.ferry.Answer;
import io.ferry.FerryException;
import io.ferry.Frame;
import io.ferry.Listener;
import io.ferry.Model;
import io.ferry.Report;
import io.ferry.Request;
import io.ferry.SessionOptions;
import io.ferry.Task;
import io.ferry.Verification;
import io.ferry.Worker;
import io.ferry.android.Assets;
import io.ferry.android.Frames;
import java.util.concurrent.Callable;

/** The model of assets/model.ferry: opened, verified, prepared and run in its own thread. */
final class Vision {
  static final String ASSET = "model.ferry";

  /** Called in the main thread. */
  interface Watcher {
    void onReady(String where, String verdict);

    void onOverlay(Overlay overlay, double milliseconds);

    void onProblem(String sentence);
  }

  private final Context context;
  private final Watcher watcher;
  private final Worker worker = new Worker("vision");
  private final Handler main = new Handler(Looper.getMainLooper());
  // Used only by the worker.
  private Model model;
  private volatile Task task;

  Vision(Context context, Watcher watcher) {
    this.context = context.getApplicationContext();
    this.watcher = watcher;
  }

  /** Opens the model if it is not open, and prepares it for that backend. */
  void use(final SessionOptions.Backend backend) {
    stopRun();
    worker.submit(new Callable<String[]>() {
      @Override
      public String[] call() throws Exception {
        if (task != null) task.close();
        task = null;
        if (model == null) model = Assets.open(context.getAssets(), ASSET);
        String folder = context.getCacheDir().getPath();
        SessionOptions options = new SessionOptions().backend(backend).cacheDir(folder).gpuCacheDir(folder);
        String verdict = verdict(options);
        task = model.task(options);
        return new String[] {where(task.report()), verdict};
      }
    }, new Listener<String[]>() {
      @Override
      public void onResult(final String[] ready) {
        main.post(new Runnable() {
          @Override
          public void run() {
            watcher.onReady(ready[0], ready[1]);
          }
        });
      }

      @Override
      public void onFailure(Exception failure) {
        problem(failure);
      }
    });
  }

  /** Does this device compute what the framework computed? */
  private String verdict(SessionOptions options) {
    try {
      Verification v = model.verify(options);
      String which = v.passed() ? "passed: of " + v.stageCount() + " stages the nearest to its bound is "
          : "FAILED: of " + v.stageCount() + " stages the first out of bounds is ";
      return which + v.stage() + String.format(", error %.1e, bound %.1e", v.error(), v.bound());
    } catch (FerryException e) {
      if (e.status() != FerryException.Status.NOT_FOUND) throw e;
      return "none in this blob";
    }
  }

  private static String where(Report report) {
    if (report.backend() == SessionOptions.Backend.GPU) return report.device();
    return report.message().isEmpty() ? "CPU, cores " + report.cpus() : "CPU, for: " + report.message();
  }

  /** Takes the image over, and closes it when the answer is there; at once where the former one is still looked at. */
  void look(final Image image, final int rotation, final boolean mirror) {
    if (worker.pending() > 0) {
      image.close();
      return;
    }
    final long begin = System.nanoTime();
    worker.submit(new Callable<Overlay>() {
      @Override
      public Overlay call() {
        try {
          if (task == null) return null; // it could not be prepared, and the reason was shown
          Frame frame = Frames.of(image, rotation, mirror);
          Answer answer = task.run(Request.of(frame));
          return Overlay.of(answer, frame.width(), frame.height());
        } finally {
          image.close();
        }
      }
    }, new Listener<Overlay>() {
      @Override
      public void onResult(final Overlay overlay) {
        final double milliseconds = (System.nanoTime() - begin) / 1e6;
        main.post(new Runnable() {
          @Override
          public void run() {
            if (overlay != null) watcher.onOverlay(overlay, milliseconds);
          }
        });
      }

      @Override
      public void onFailure(Exception failure) {
        problem(failure);
      }
    });
  }

  private void problem(final Exception failure) {
    boolean cancelled = failure instanceof FerryException
        && ((FerryException) failure).status() == FerryException.Status.CANCELLED;
    if (cancelled) return; // by us
    final String sentence = failure.getMessage() != null ? failure.getMessage() : failure.toString();
    main.post(new Runnable() {
      @Override
      public void run() {
        watcher.onProblem(sentence);
      }
    });
  }

  private void stopRun() {
    Task running = task;
    if (running == null) return;
    try {
      running.cancel();
    } catch (IllegalStateException e) {
      // It was closed meanwhile; nothing runs.
    }
  }

  /** Does `last` when no image is looked at any more, and ends the thread. Waits for nothing. */
  void close(final Runnable last) {
    stopRun();
    worker.execute(new Runnable() {
      @Override
      public void run() {
        if (task != null) task.close();
        if (model != null) model.close();
        last.run();
      }
    });
    worker.close();
  }
}
