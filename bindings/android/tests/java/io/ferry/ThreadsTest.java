// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import static io.ferry.Tests.blob;
import static io.ferry.Tests.check;
import static io.ferry.Tests.direct;
import static io.ferry.Tests.equal;
import static io.ferry.Tests.floats;
import static io.ferry.Tests.golden;
import static io.ferry.Tests.inThread;
import static io.ferry.Tests.near;
import static io.ferry.Tests.refused;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Calls from several threads wait for each other, fail after a close, and leak nothing. */
final class ThreadsTest {
  private static final String NAME = "v1_small_classifier";

  private static ByteBuffer input(Session session, int k) {
    ByteBuffer out = session.inputs().get(0).allocate();
    for (int i = 0; i < out.capacity() / 4; ++i) out.putFloat(4 * i, k * 0.1f * (i % 7));
    return out;
  }

  private static float[] logits(Session session, int k) {
    session.setInput(0, input(session, k));
    session.run();
    return floats(session.output(0));
  }

  public static void sessionsRunSideBySide() throws Exception {
    try (Model model = Model.open(golden(NAME))) {
      List<Future<Void>> all = new ArrayList<>();
      for (int k = 0; k < 6; ++k) {
        int number = k;
        all.add(inThread(() -> {
          try (Session session = model.session(new SessionOptions().threads(1))) {
            float[] expected = logits(session, number);
            for (int i = 0; i < 100; ++i) near(expected, logits(session, number), 0);
          }
          return null;
        }));
      }
      for (Future<Void> each : all) each.get(60, TimeUnit.SECONDS);
    }
  }

  public static void oneTaskIsUsedInTurns() throws Exception {
    Image[] images = new Image[6];
    for (int k = 0; k < images.length; ++k) {
      byte[] pixels = new byte[300];
      Arrays.fill(pixels, (byte) (40 * k));
      images[k] = new Image(10, 10, direct(pixels));
    }
    try (Model model = Model.open(golden(NAME)); Task task = model.task(new SessionOptions().threads(1))) {
      List<Future<Void>> all = new ArrayList<>();
      for (Image image : images) {
        float expected = best(task, image);
        all.add(inThread(() -> {
          for (int i = 0; i < 100; ++i) equal(expected, best(task, image));
          return null;
        }));
      }
      for (Future<Void> each : all) each.get(60, TimeUnit.SECONDS);
    }
  }

  private static float best(Task task, Image image) {
    return ((Answer.Classes) task.run(Request.of(image))).classes().get(0).probability();
  }

  /** A session whose run takes long enough to be interrupted. */
  private static Session slow() {
    try (Model model = Model.open(blob("upscaler"))) {
      Session session = model.session(new SessionOptions().threads(1));
      session.resize(new int[] {1, 1500, 1500, 3});
      return session;
    }
  }

  /** A session that is closed from another thread during a run, and just before it. */
  public static void aCloseEndsTheRunAndWaitsForIt() throws Exception {
    for (int wait : new int[] {0, 1, 20}) {
      Session session = slow();
      CountDownLatch begun = new CountDownLatch(2);
      List<Future<Exception>> runs = new ArrayList<>();
      for (int i = 0; i < 2; ++i) { // the second waits for the first
        runs.add(inThread(() -> {
          begun.countDown();
          try {
            while (true) session.run();
          } catch (FerryException | IllegalStateException e) {
            return e;
          }
        }));
      }
      begun.await();
      Thread.sleep(wait);
      session.close();
      refused(IllegalStateException.class, "this session is closed", session::run);
      for (Future<Exception> run : runs) {
        Exception end = run.get(10, TimeUnit.SECONDS);
        if (end instanceof FerryException) {
          equal(FerryException.Status.CANCELLED, ((FerryException) end).status());
        } else {
          equal("this session is closed", end.getMessage());
        }
      }
    }
  }

  public static void aTaskIsClosedInARun() throws Exception {
    Model model = Model.open(blob("upscaler"));
    Task task = model.task(new SessionOptions().threads(1));
    model.close();
    Image large = new Image(2000, 1500, ByteBuffer.allocateDirect(2000 * 1500 * 3));
    Future<Answer> run = inThread(() -> task.run(Request.of(large)));
    Thread.sleep(20);
    task.close();
    try {
      run.get(10, TimeUnit.SECONDS);
      throw new AssertionError("the run was not cancelled");
    } catch (ExecutionException e) {
      check(e.getCause() instanceof FerryException || e.getCause() instanceof IllegalStateException, "" + e.getCause());
    }
  }

  public static void aRunCanBeCancelled() throws Exception {
    try (Session session = slow()) {
      Future<Void> run = inThread(() -> {
        session.run();
        return null;
      });
      while (!run.isDone()) {
        session.cancel();
        Thread.sleep(1);
      }
      try {
        run.get();
        throw new AssertionError("the run was not cancelled");
      } catch (ExecutionException e) {
        equal(FerryException.Status.CANCELLED, ((FerryException) e.getCause()).status());
      }
    }
  }

  private static Image black(int side) {
    return new Image(side, side, ByteBuffer.allocateDirect(3 * side * side));
  }

  public static void progressIsReportedInTheRunsThread() {
    try (Model model = Model.open(blob("upscaler")); Task task = model.task(new SessionOptions())) {
      List<String> calls = new ArrayList<>();
      Thread mine = Thread.currentThread();
      Progress progress = (done, total) -> {
        equal(mine, Thread.currentThread());
        calls.add(done + "/" + total);
      };
      Answer.NewImage answer = (Answer.NewImage) task.run(Request.of(black(40)).tile(20).progress(progress));
      equal(80, answer.image().width());
      equal(Arrays.asList("1/4", "2/4", "3/4", "4/4"), calls);
    }
  }

  public static void whatProgressThrowsEndsTheRun() {
    try (Model model = Model.open(blob("upscaler")); Task task = model.task(new SessionOptions())) {
      for (int last : new int[] {1, 3, 4}) { // the fourth completes the work
        int[] calls = new int[1];
        Request request = Request.of(black(40)).tile(20).progress((done, total) -> {
          calls[0] = done;
          if (done == last) throw new ArithmeticException("enough");
        });
        refused(ArithmeticException.class, "enough", () -> task.run(request));
        equal(last, calls[0]);
      }
      task.run(Request.of(black(40)));
    }
  }

  public static void whoIsToldOfProgressMayCancelAndNoMore() {
    try (Model model = Model.open(blob("upscaler")); Task task = model.task(new SessionOptions())) {
      Request cancelling = Request.of(black(40)).tile(20).progress((done, total) -> task.cancel());
      Tests.refused(FerryException.Status.CANCELLED, "", () -> task.run(cancelling));
      Tests.Action[] actions = {task::close, task::report, () -> task.run(Request.of(black(8)))};
      for (Tests.Action action : actions) {
        int[] calls = new int[1];
        task.run(Request.of(black(40)).tile(20).progress((done, total) -> {
          refused(IllegalStateException.class, "cannot", action);
          ++calls[0];
        }));
        equal(4, calls[0]);
      }
    }
  }

  public static void aTaskIsClosedWhileItsProgressIsReported() throws Exception {
    Model model = Model.open(blob("upscaler"));
    Task task = model.task(new SessionOptions().threads(1));
    model.close();
    CountDownLatch started = new CountDownLatch(1);
    Future<Answer> run = inThread(() -> task.run(Request.of(black(400)).tile(20).progress((done, total) -> {
      started.countDown();
    })));
    started.await();
    task.close();
    try {
      run.get(10, TimeUnit.SECONDS);
      throw new AssertionError("the run was not cancelled");
    } catch (ExecutionException e) {
      equal(FerryException.Status.CANCELLED, ((FerryException) e.getCause()).status());
    }
  }

  /** Two sessions share states, whose length is read meanwhile, and which are closed at the end. */
  public static void sessionsThatShareStatesTakeTurns() throws Exception {
    try (Model model = Model.open(blob("language"))) {
      States states = model.states();
      List<Future<Void>> all = new ArrayList<>();
      for (int k = 0; k < 3; ++k) {
        all.add(inThread(() -> {
          try (Session session = model.session(new SessionOptions().states(states).threads(1))) {
            for (int i = 0; i < 200; ++i) {
              session.resize(new int[] {1, 1 + i % 2});
              session.run();
              session.truncateStates(0);
            }
          }
          return null;
        }));
      }
      all.add(inThread(() -> {
        for (int i = 0; i < 200; ++i) {
          check(states.length() <= states.bound(), "too long");
          states.contents(0);
        }
        return null;
      }));
      all.get(3).get(60, TimeUnit.SECONDS);
      states.close();
      refused(IllegalStateException.class, "this states object is closed", states::length);
      try {
        for (Future<Void> each : all) each.get(60, TimeUnit.SECONDS);
      } catch (ExecutionException e) { // of a session that was not created yet
        check(e.getCause() instanceof IllegalStateException, "" + e.getCause());
      }
    }
  }

  public static void aClosingThreadStaysInterrupted() throws Exception {
    Session session = slow();
    Future<Boolean> closing = inThread(() -> {
      Future<Void> run = inThread(() -> {
        session.run();
        return null;
      });
      Thread.sleep(10);
      Thread.currentThread().interrupt();
      session.close();
      check(run.isDone() || Thread.currentThread().isInterrupted(), "it was not waited for");
      return Thread.interrupted();
    });
    equal(true, closing.get(10, TimeUnit.SECONDS));
  }

  public static void aWorkerDoesOneThingAfterTheOther() throws Exception {
    List<String> calls = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch ended = new CountDownLatch(1);
    Worker worker = new Worker("ferry-test");
    class Recorder implements Listener<Object> {
      @Override
      public void onResult(Object result) {
        calls.add(Thread.currentThread().getName() + " " + result);
      }

      @Override
      public void onFailure(Exception failure) {
        calls.add(Thread.currentThread().getName() + " " + failure.getMessage());
      }
    }
    CountDownLatch go = new CountDownLatch(1);
    worker.execute(() -> {
      try {
        go.await();
      } catch (InterruptedException e) {
        calls.add("interrupted");
      }
    });
    Model[] model = new Model[1];
    worker.submit(() -> {
      model[0] = Model.open(golden(NAME));
      return model[0].name();
    }, new Recorder());
    worker.submit(() -> model[0].graph("nope"), new Recorder());
    worker.execute(() -> model[0].close());
    worker.submit(() -> model[0].inputs(), new Recorder());
    worker.execute(ended::countDown);
    equal(6, worker.pending());
    worker.close();
    refused(IllegalStateException.class, "this worker is closed", () -> worker.execute(ended::countDown));
    equal(6, worker.pending());
    go.countDown();
    check(ended.await(10, TimeUnit.SECONDS), "what was taken before close() was not done");
    equal(3, calls.size());
    equal("ferry-test small_classifier", calls.get(0));
    check(calls.get(1).startsWith("ferry-test ") && calls.get(1).contains("nope"), calls.get(1));
    equal("ferry-test this model is closed", calls.get(2));
    for (int i = 0; i < 1000 && worker.pending() > 0; ++i) Thread.sleep(1);
    equal(0, worker.pending());
  }

  /** Resident memory of the process in KB. */
  private static long resident() throws IOException {
    for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
      if (line.startsWith("VmRSS:")) return Long.parseLong(line.replaceAll("[^0-9]", ""));
    }
    throw new AssertionError("no VmRSS");
  }

  public static void nothingIsLeftBehind() throws Exception {
    ByteBuffer pixels = ByteBuffer.allocateDirect(3 * 100 * 100);
    ByteBuffer bytes = direct(Tests.bytes(golden(NAME)));
    long before = 0;
    // Each round's session, task, answer and copied blob are some 50 KB: 1500 leaked rounds would be 75 MB.
    for (int round = 0; round < 2000; ++round) {
      if (round == 500) before = resident();
      try (Model model = Model.open(bytes); Session session = model.session(new SessionOptions().threads(1));
           Task task = model.task(new SessionOptions().threads(1))) {
        session.setImage(new Image(100, 100, pixels));
        session.run();
        session.output(0);
        task.run(Request.of(new Image(100, 100, pixels)));
        refused(FerryException.class, "", () -> session.tap("absent"));
      }
      if (round % 100 == 0) System.gc();
    }
    long grown = resident() - before;
    check(grown < 25_000, grown + " KB more after 1500 rounds");
  }
}
