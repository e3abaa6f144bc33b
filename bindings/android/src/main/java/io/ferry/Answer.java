// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.ShortBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The answer of a task, as one of the classes below. It is a copy and does not change; buffers are read-only views. */
public abstract class Answer {
  Answer() {}

  /** The most probable classes, best first. */
  public static final class Classes extends Answer {
    private final List<Classification> classes;

    Classes(Parcel parcel) {
      classes = Classification.all(parcel);
    }

    public List<Classification> classes() {
      return classes;
    }
  }

  /** An image embedding. */
  public static final class Vector extends Answer {
    private final float[] values;

    Vector(Parcel parcel) {
      values = parcel.values;
    }

    public FloatBuffer values() {
      return FloatBuffer.wrap(values).asReadOnlyBuffer();
    }
  }

  /** An answer with one value per pixel of the image, row by row. */
  public abstract static class Pixels extends Answer {
    private final int width;
    private final int height;

    Pixels(Parcel parcel) {
      width = parcel.integer();
      height = parcel.integer();
    }

    public final int width() {
      return width;
    }

    public final int height() {
      return height;
    }
  }

  /** One float per pixel: depth. */
  public static final class Map extends Pixels {
    private final float minimum;
    private final float maximum;
    private final boolean metres;
    private final float[] values;

    Map(Parcel parcel) {
      super(parcel);
      minimum = (float) parcel.number();
      maximum = (float) parcel.number();
      metres = parcel.truth();
      values = parcel.values;
    }

    /** The minimum of the finite values. */
    public float minimum() {
      return minimum;
    }

    public float maximum() {
      return maximum;
    }

    /** Whether values are distances in metres; otherwise larger is nearer, with unknown scale. */
    public boolean metres() {
      return metres;
    }

    public FloatBuffer values() {
      return FloatBuffer.wrap(values).asReadOnlyBuffer();
    }
  }

  /** One class per pixel. */
  public static final class Labels extends Pixels {
    private final List<Classification> classes;
    private final short[] labels;

    Labels(Parcel parcel) {
      super(parcel);
      classes = Classification.all(parcel);
      labels = parcel.classes;
    }

    /** The classes that occur, largest area first; their probability is their share of the image. */
    public List<Classification> classes() {
      return classes;
    }

    /** Unsigned: label &amp; 0xFFFF. */
    public ShortBuffer labels() {
      return ShortBuffer.wrap(labels).asReadOnlyBuffer();
    }
  }

  /** The mask of an object: 255 inside, 0 outside, values between at soft edges. */
  public static final class Mask extends Pixels {
    private final float quality;
    private final byte[] mask;

    Mask(Parcel parcel) {
      super(parcel);
      quality = (float) parcel.number();
      mask = parcel.bytes;
    }

    /** For masks by prompts: the network's estimate of intersection over union; otherwise 0. */
    public float quality() {
      return quality;
    }

    /** Unsigned: mask &amp; 0xFF. */
    public ByteBuffer mask() {
      return ByteBuffer.wrap(mask).asReadOnlyBuffer();
    }
  }

  /** A larger or better image. */
  public static final class NewImage extends Answer {
    private final Image image;

    NewImage(Parcel parcel) {
      image = Image.of(parcel);
    }

    public Image image() {
      return image;
    }
  }

  /** Detected objects, best first. */
  public static final class Boxes extends Answer {
    private final List<Detection> boxes;
    private final List<String> landmarkNames;
    private final int[] landmarkLines;

    Boxes(Parcel parcel) {
      List<Detection> out = new ArrayList<Detection>();
      for (int count = parcel.integer(); count > 0; --count) out.add(new Detection(parcel));
      boxes = Collections.unmodifiableList(out);
      List<String> names = new ArrayList<String>();
      for (int count = parcel.integer(); count > 0; --count) names.add(parcel.text());
      landmarkNames = Collections.unmodifiableList(names);
      landmarkLines = new int[parcel.integer()];
      for (int i = 0; i < landmarkLines.length; ++i) landmarkLines[i] = parcel.integer();
    }

    public List<Detection> boxes() {
      return boxes;
    }

    /** Names of the landmarks of every box; empty if the model has none. */
    public List<String> landmarkNames() {
      return landmarkNames;
    }

    /** Pairs of landmarks that a drawing joins, a skeleton; empty if the model has none. */
    public IntBuffer landmarkLines() {
      return IntBuffer.wrap(landmarkLines).asReadOnlyBuffer();
    }
  }

  /** Lines of text, top to bottom. */
  public static final class Lines extends Answer {
    private final List<Line> lines;

    Lines(Parcel parcel) {
      List<Line> out = new ArrayList<Line>();
      for (int count = parcel.integer(); count > 0; --count) out.add(new Line(parcel));
      lines = Collections.unmodifiableList(out);
    }

    public List<Line> lines() {
      return lines;
    }
  }

  public static final class Classification {
    private final int index;
    private final float probability;
    private final String label;

    private Classification(Parcel parcel) {
      index = parcel.integer();
      probability = (float) parcel.number();
      label = parcel.text();
    }

    static List<Classification> all(Parcel parcel) {
      List<Classification> out = new ArrayList<Classification>();
      for (int count = parcel.integer(); count > 0; --count) out.add(new Classification(parcel));
      return Collections.unmodifiableList(out);
    }

    public int index() {
      return index;
    }

    public float probability() {
      return probability;
    }

    /** "" if the model has no labels. */
    public String label() {
      return label;
    }
  }

  /** A detected object; locations are in pixels of the image. */
  public static final class Detection {
    private final float left;
    private final float top;
    private final float right;
    private final float bottom;
    private final float score;
    private final int index;
    private final String label;
    private final float[] landmarks;
    private final float[] landmarkScores;

    private Detection(Parcel parcel) {
      left = (float) parcel.number();
      top = (float) parcel.number();
      right = (float) parcel.number();
      bottom = (float) parcel.number();
      score = (float) parcel.number();
      index = parcel.integer();
      label = parcel.text();
      landmarks = new float[2 * parcel.integer()];
      for (int i = 0; i < landmarks.length; ++i) landmarks[i] = (float) parcel.number();
      landmarkScores = new float[parcel.integer()];
      for (int i = 0; i < landmarkScores.length; ++i) landmarkScores[i] = (float) parcel.number();
    }

    public float left() {
      return left;
    }

    public float top() {
      return top;
    }

    public float right() {
      return right;
    }

    public float bottom() {
      return bottom;
    }

    /** 0 to 1. */
    public float score() {
      return score;
    }

    /** Index of the class. */
    public int index() {
      return index;
    }

    public String label() {
      return label;
    }

    /** x, y of each landmark, in the network's order. */
    public FloatBuffer landmarks() {
      return FloatBuffer.wrap(landmarks).asReadOnlyBuffer();
    }

    /** The probability that each landmark is visible, 0 to 1; empty if the network does not say. */
    public FloatBuffer landmarkScores() {
      return FloatBuffer.wrap(landmarkScores).asReadOnlyBuffer();
    }
  }

  /** A line of text. */
  public static final class Line {
    private final String text;
    private final float score;
    private final float[] corners = new float[8];

    private Line(Parcel parcel) {
      text = parcel.text();
      score = (float) parcel.number();
      for (int i = 0; i < corners.length; ++i) corners[i] = (float) parcel.number();
    }

    public String text() {
      return text;
    }

    /** 0 to 1: mean probability of its characters. */
    public float score() {
      return score;
    }

    /** x, y of top left, top right, bottom right and bottom left, in reading order. */
    public FloatBuffer corners() {
      return FloatBuffer.wrap(corners).asReadOnlyBuffer();
    }
  }

  /** Cases in the order of ferry_answer_kind. */
  static Answer of(Parcel parcel) {
    int kind = parcel.integer();
    switch (kind) {
      case 1:
        return new Classes(parcel);
      case 2:
        return new Vector(parcel);
      case 3:
        return new Map(parcel);
      case 4:
        return new Labels(parcel);
      case 5:
        return new Mask(parcel);
      case 6:
        return new NewImage(parcel);
      case 7:
        return new Boxes(parcel);
      case 8:
        return new Lines(parcel);
      default:
        throw new IllegalStateException("an answer of kind " + kind + ", of a library newer than this package");
    }
  }
}
