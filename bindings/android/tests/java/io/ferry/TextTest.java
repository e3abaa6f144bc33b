// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import static io.ferry.Tests.blob;
import static io.ferry.Tests.check;
import static io.ferry.Tests.equal;
import static io.ferry.Tests.near;
import static io.ferry.Tests.refused;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** Texts over a small language model of bytes: tests/support/language_model.h. */
final class TextTest {
  private static final int[] PROMPT = {1, 80, 200};

  private interface Work {
    void run(Generator story) throws Exception;
  }

  private static void withStory(Work work) throws Exception {
    try (Model model = Model.open(blob("language")); Generator story = model.generator(new SessionOptions())) {
      work.run(story);
    }
  }

  private static String bytes(String words) {
    byte[] bytes = Native.utf8(words);
    int[] out = new int[bytes.length];
    for (int i = 0; i < out.length; ++i) out[i] = 3 + (bytes[i] & 255);
    return Arrays.toString(out);
  }

  private static int[] tokens(Generator story, int count) {
    int[] out = new int[count];
    for (int i = 0; i < count; ++i) out[i] = story.next().id();
    return out;
  }

  public static void textsBecomeIdsAndTextsAgain() {
    Text closed;
    try (Model model = Model.open(blob("language"))) {
      closed = model.text();
    }
    try (Text text = closed) { // it stays usable without its model
      for (String words : new String[] {"ab", "gr\u00f6\u00dfer\ud83d\udea2", "a\0b", ""}) {
        equal(bytes(words), Arrays.toString(text.encode(words, false)));
        equal(words, text.decode(text.encode(words, false)));
      }
      equal(1, text.encode("ab", true)[0]);
      equal("\ufffd", text.decode(3 + 0xC3));
      refused(FerryException.Status.INVALID_ARGUMENT, "", () -> text.decode(100000));
    }
    refused(IllegalStateException.class, "this text is closed", () -> closed.encode("a", true));
  }

  public static void conversationsAreWrittenByTheBlobsTemplate() {
    String expected = "user: hi\nassistant: ho\nthe ";
    try (Model model = Model.open(blob("language")); Text text = model.text()) {
      equal(expected, text.chat(Arrays.asList(new Text.Message("user", "hi"), new Text.Message("assistant", "ho"))));
      equal(expected, text.render("{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}, {\"role\": \"assistant\","
          + " \"content\": \"ho\"}], \"add_generation_prompt\": true}"));
      refused(FerryException.Status.INVALID_ARGUMENT, "", () -> text.render("{\"messages\": 3}"));
    }
  }

  public static void theFirstTokenIsTheMostProbableOne() throws Exception {
    withStory(story -> {
      story.append(PROMPT);
      Generator.Token token = story.next();
      try (Model model = Model.open(blob("language")); Session session = model.session(new SessionOptions())) {
        session.resize(new int[] {1, PROMPT.length});
        ByteBuffer ids = session.inputs().get(0).allocate();
        for (int i = 0; i < PROMPT.length; ++i) ids.putInt(4 * i, PROMPT[i]);
        session.setInput(0, ids);
        session.run();
        float[] all = Tests.floats(session.output(0));
        float[] logits = Arrays.copyOfRange(all, all.length - 262, all.length);
        double sum = 0;
        for (float logit : logits) {
          check(logit <= logits[token.id()], "another token is more probable");
          sum += Math.exp(logit - logits[token.id()]);
        }
        near(-Math.log(sum), token.logProbability(), 1e-4);
      }
      equal(Arrays.toString(new int[] {1, 80, 200, token.id()}), Arrays.toString(story.tokens()));
      equal(48, story.maxLength());
      equal(SessionOptions.Backend.CPU, story.report().backend());
    });
  }

  public static void samplingFollowsItsSeedAndKeepsToItsBias() throws Exception {
    withStory(story -> {
      int[] greedy = generated(story, new Sampling());
      int[] three = generated(story, new Sampling().temperature(30).seed(3));
      check(Arrays.equals(three, generated(story, new Sampling().temperature(30).seed(3))), "a seed gives one text");
      check(!Arrays.equals(three, generated(story, new Sampling().temperature(30).seed(4))), "another gives another");
      check(story.recommendedSampling() == null, "no recommendation");
      int[] banned = generated(story, new Sampling().bias(greedy[0], Float.NEGATIVE_INFINITY));
      for (int token : banned) check(token != greedy[0], "what is never to come came");
      refused(FerryException.Status.INVALID_ARGUMENT, "", () -> story.sampling(new Sampling().temperature(-1)));
      refused(FerryException.Status.INVALID_ARGUMENT, "", () -> story.sampling(new Sampling().topP(0)));
    });
  }

  private static int[] generated(Generator story, Sampling how) {
    story.reset();
    story.sampling(how);
    story.append(1, 80);
    return tokens(story, 12);
  }

  public static void aStopStringEndsTheText() throws Exception {
    withStory(story -> {
      String whole = text(story, new Sampling().temperature(30).seed(3));
      String stop = whole.substring(4, 6);
      equal(whole.substring(0, whole.indexOf(stop)), text(story, new Sampling().temperature(30).seed(3).stop(stop)));
    });
  }

  private static String text(Generator story, Sampling how) {
    story.reset();
    story.sampling(how);
    story.append(1, 80);
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < 24; ++i) {
      Generator.Token token = story.next();
      out.append(token.text());
      if (token.ended()) break;
    }
    return out.toString();
  }

  public static void aTextGoesOnFromAFile() throws Exception {
    File file = File.createTempFile("ferry", ".story");
    try {
      withStory(story -> {
        story.append("the end");
        story.next();
        story.save(file.getPath(), Native.utf8("mine"));
        int[] expected = tokens(story, 5);
        withStory(other -> {
          equal("mine", Native.string(other.load(file.getPath())));
          check(Arrays.equals(expected, tokens(other, 5)), "it goes on as it would have");
          story.setText("the e");
          other.setTokens(Arrays.copyOf(other.tokens(), 3));
          equal(3, other.tokens().length);
        });
      });
      Files.write(file.toPath(), new byte[100]);
      withStory(story -> refused(FerryException.class, file.getName(), () -> story.load(file.getPath())));
    } finally {
      file.delete();
    }
  }

  public static void whatCannotBeIsASentence() throws Exception {
    withStory(story -> {
      story.append(new int[48]);
      refused(FerryException.Status.STATE_FULL, "", () -> tokens(story, 3));
      Image image = new Image(8, 8, ByteBuffer.allocateDirect(3 * 8 * 8));
      refused(FerryException.Status.UNSUPPORTED, "", () -> story.append(image));
      refused(FerryException.Status.UNSUPPORTED, "", () -> story.add(image));
      refused(FerryException.Status.INVALID_ARGUMENT, "", () -> story.setTokens(-1));
      story.close();
      refused(IllegalStateException.class, "this generator is closed", story::next);
      refused(IllegalStateException.class, "this generator is closed", story::cancel);
    });
    try (Model model = Model.open(blob("depth"))) {
      refused(FerryException.Status.NOT_FOUND, "", model::text);
      refused(FerryException.Status.UNSUPPORTED, "", () -> model.generator(new SessionOptions()));
    }
  }

  /** Closed from another thread between tokens, or during one. */
  public static void aGeneratorIsClosedWhileItTells() throws Exception {
    for (int i = 0; i < 5; ++i) {
      withStory(story -> {
        FutureTask<Object> telling = Tests.inThread(() -> {
          while (true) {
            story.reset();
            story.append(PROMPT);
            tokens(story, 40);
          }
        });
        Thread.sleep(5);
        story.close();
        try {
          telling.get();
        } catch (ExecutionException e) {
          check(e.getCause() instanceof IllegalStateException
              || ((FerryException) e.getCause()).status() == FerryException.Status.CANCELLED, "" + e.getCause());
        }
      });
    }
  }
}
