// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Prints a task's answer to an image as `ferry run --json` does, for tests/run to compare. Pixel answers are compared
 * here with the file that the command wrote: "pixels" is "equal" or "differ".
 *
 *     PrintAnswer BLOB IMAGE FILE [mask=FILE] [point=X,Y]
 *     PrintAnswer BLOB                                          its certificate's verdict, as `ferry verify --json`
 */
final class PrintAnswer {
  private PrintAnswer() {}

  public static void main(String[] args) throws Exception {
    if (args.length == 1) {
      verify(args[0]);
      return;
    }
    Request request = Request.of(Image.load(args[1]));
    for (int i = 3; i < args.length; ++i) {
      String value = args[i].substring(args[i].indexOf('=') + 1);
      if (args[i].startsWith("mask=")) request.mask(Image.load(value));
      if (args[i].startsWith("point=")) {
        request.point(Float.parseFloat(value.split(",")[0]), Float.parseFloat(value.split(",")[1]));
      }
    }
    try (Model model = Model.open(args[0]); Task task = model.task(new SessionOptions())) {
      System.out.println("{" + describe(task.run(request), args[2]) + "}");
    }
  }

  private static void verify(String blob) {
    try (Model model = Model.open(blob)) {
      Verification v = model.verify(new SessionOptions());
      System.out.println("{\"passed\": " + v.passed() + ", \"stages\": " + v.stageCount()
          + ", \"graph\": \"" + v.graph() + "\", \"stage\": \"" + v.stage() + "\", \"error\": " + v.error() + ", \"bound\": " + v.bound()
          + ", \"error_at_conversion\": " + v.errorAtConversion() + ", \"fixture\": \"" + v.fixture()
          + "\", \"library\": \"" + v.library() + "\"}");
    }
  }

  private static String describe(Answer answer, String file) throws Exception {
    if (answer instanceof Answer.Classes) return classes(((Answer.Classes) answer).classes(), "probability");
    if (answer instanceof Answer.Vector) return "\"embedding\": " + numbers(((Answer.Vector) answer).values());
    if (answer instanceof Answer.Map) {
      Answer.Map map = (Answer.Map) answer;
      return size(map) + ", \"pixels\": \"" + (map.values().equals(portableFloatMap(file)) ? "equal" : "differ")
          + "\", \"minimum\": " + map.minimum() + ", \"maximum\": " + map.maximum() + ", \"sense\": \""
          + (map.metres() ? "metres" : "nearness") + "\"";
    }
    if (answer instanceof Answer.Labels) {
      Answer.Labels labels = (Answer.Labels) answer;
      byte[] bytes = new byte[labels.width() * labels.height()];
      for (int i = 0; i < bytes.length; ++i) bytes[i] = (byte) labels.labels().get(i);
      return size(labels) + reds(file, bytes) + ", " + classes(labels.classes(), "share");
    }
    if (answer instanceof Answer.Mask) {
      Answer.Mask mask = (Answer.Mask) answer;
      byte[] bytes = new byte[mask.width() * mask.height()];
      mask.mask().get(bytes);
      return size(mask) + reds(file, bytes) + (mask.quality() != 0 ? ", \"quality\": " + mask.quality() : "");
    }
    if (answer instanceof Answer.NewImage) {
      Image image = ((Answer.NewImage) answer).image();
      String equal = image.pixels().equals(Image.load(file).pixels()) ? "equal" : "differ";
      return "\"width\": " + image.width() + ", \"height\": " + image.height() + ", \"pixels\": \"" + equal + "\"";
    }
    List<String> found = new ArrayList<>();
    if (answer instanceof Answer.Boxes) {
      Answer.Boxes boxes = (Answer.Boxes) answer;
      for (Answer.Detection d : boxes.boxes()) {
        List<String> scores = new ArrayList<>();
        for (int i = 0; i < d.landmarkScores().limit(); ++i) scores.add("" + d.landmarkScores().get(i));
        found.add("{\"index\": " + d.index() + ", \"label\": \"" + d.label() + "\", \"score\": " + d.score()
            + ", \"box\": [" + d.left() + ", " + d.top() + ", " + d.right() + ", " + d.bottom() + "], \"landmarks\": "
            + pairs(d.landmarks()) + (scores.isEmpty() ? "" : ", \"landmark_scores\": " + scores) + "}");
      }
      List<String> names = new ArrayList<>();
      for (String name : boxes.landmarkNames()) names.add("\"" + name + "\"");
      return "\"boxes\": " + found + (names.isEmpty() ? "" : ", \"landmark_names\": " + names);
    }
    for (Answer.Line line : ((Answer.Lines) answer).lines()) {
      found.add("{\"text\": \"" + line.text() + "\", \"score\": " + line.score() + ", \"corners\": "
          + pairs(line.corners()) + "}");
    }
    return "\"lines\": " + found;
  }

  private static String size(Answer.Pixels pixels) {
    return "\"width\": " + pixels.width() + ", \"height\": " + pixels.height();
  }

  private static String classes(List<Answer.Classification> classes, String name) {
    List<String> out = new ArrayList<>();
    for (Answer.Classification c : classes) {
      out.add("{\"index\": " + c.index() + ", \"label\": \"" + c.label() + "\", \"" + name + "\": " + c.probability()
          + "}");
    }
    return "\"classes\": " + out;
  }

  private static List<Float> numbers(FloatBuffer buffer) {
    List<Float> out = new ArrayList<>();
    while (buffer.hasRemaining()) out.add(buffer.get());
    return out;
  }

  private static List<List<Float>> pairs(FloatBuffer buffer) {
    List<List<Float>> out = new ArrayList<>();
    List<Float> numbers = numbers(buffer);
    for (int i = 0; i < numbers.size(); i += 2) out.add(numbers.subList(i, i + 2));
    return out;
  }

  /** Whether these are the levels of a grey image. */
  private static String reds(String file, byte[] levels) {
    ByteBuffer pixels = Image.load(file).pixels();
    boolean equal = pixels.remaining() == 3 * levels.length;
    for (int i = 0; equal && i < levels.length; ++i) equal = pixels.get(3 * i) == levels[i];
    return ", \"pixels\": \"" + (equal ? "equal" : "differ") + "\"";
  }

  /** Rows of a Portable Float Map go from the bottom to the top. */
  private static FloatBuffer portableFloatMap(String file) throws Exception {
    byte[] bytes = Tests.bytes(file);
    int begin = 0;
    for (int lines = 0; lines < 3; ++begin) lines += bytes[begin] == '\n' ? 1 : 0;
    String[] sides = new String(bytes, 0, begin, StandardCharsets.US_ASCII).split("\\s+");
    int width = Integer.parseInt(sides[1]);
    int height = Integer.parseInt(sides[2]);
    FloatBuffer rows = ByteBuffer.wrap(bytes, begin, bytes.length - begin).slice().order(ByteOrder.LITTLE_ENDIAN)
        .asFloatBuffer();
    FloatBuffer out = FloatBuffer.allocate(width * height);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) out.put(rows.get((height - 1 - y) * width + x));
    }
    out.flip();
    return out;
  }
}
