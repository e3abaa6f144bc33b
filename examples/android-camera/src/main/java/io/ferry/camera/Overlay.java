// SPDX-License-Identifier: Apache-2.0
package io.ferry.camera;

import android.graphics.Bitmap;
import io.ferry.Answer;
import io.ferry.Ferry;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.ShortBuffer;
import java.util.ArrayList;
import java.util.List;

/** An answer, prepared for drawing over its image of `width` x `height` pixels. */
public final class Overlay {
  private static final int MOST = 0xC0000000;
  private static final int HALF = 0x90000000;

  final int width;
  final int height;
  /** An overlay of the image's size, or null. */
  Bitmap bitmap;
  final List<Answer.Detection> boxes = new ArrayList<Answer.Detection>();
  /** Pairs of the boxes' landmarks: a skeleton; null without one. */
  IntBuffer skeleton;
  /** One line each. */
  final List<String> texts = new ArrayList<String>();

  private Overlay(int width, int height) {
    this.width = width;
    this.height = height;
  }

  static Overlay of(Answer answer, int width, int height) {
    Overlay out = new Overlay(width, height);
    if (answer instanceof Answer.Classes) {
      for (Answer.Classification c : ((Answer.Classes) answer).classes()) {
        out.texts.add(String.format("%.2f %s", c.probability(), name(c.label(), c.index())));
      }
    } else if (answer instanceof Answer.Boxes) {
      out.boxes.addAll(((Answer.Boxes) answer).boxes());
      out.skeleton = ((Answer.Boxes) answer).landmarkLines();
    } else if (answer instanceof Answer.Map) {
      out.bitmap = depth((Answer.Map) answer);
    } else if (answer instanceof Answer.Labels) {
      out.bitmap = labels((Answer.Labels) answer);
      for (Answer.Classification c : ((Answer.Labels) answer).classes()) {
        out.texts.add(String.format("%.0f %% %s", 100 * c.probability(), name(c.label(), c.index())));
      }
    } else if (answer instanceof Answer.Mask) {
      out.bitmap = mask((Answer.Mask) answer);
    } else {
      out.texts.add("nothing to draw of " + answer.getClass().getSimpleName());
    }
    return out;
  }

  /** For people: a label comes from the blob. */
  static String name(String label, int index) {
    return label.isEmpty() ? "class " + index : Ferry.printable(label, false);
  }

  private static Bitmap bitmap(Answer.Pixels of, int[] colours) {
    return Bitmap.createBitmap(colours, of.width(), of.height(), Bitmap.Config.ARGB_8888);
  }

  /** Near is bright and far is dark; the values are inverted for metres. Translucent. */
  private static Bitmap depth(Answer.Map map) {
    FloatBuffer values = map.values();
    float range = Math.max(map.maximum() - map.minimum(), 1e-6f);
    int[] colours = new int[values.remaining()];
    for (int i = 0; i < colours.length; ++i) {
      float near = (values.get(i) - map.minimum()) / range;
      if (map.metres()) near = 1 - near;
      int level = (int) (255 * Math.min(Math.max(near, 0), 1)); // 0 for NaN
      colours[i] = MOST | level << 16 | level * level / 255 << 8 | 255 - level >> 1;
    }
    return bitmap(map, colours);
  }

  private static Bitmap labels(Answer.Labels labels) {
    ShortBuffer classes = labels.labels();
    int[] colours = new int[classes.remaining()];
    for (int i = 0; i < colours.length; ++i) {
      int label = classes.get(i) & 0xFFFF;
      colours[i] = label == 0 ? 0 : HALF | label * 0x9E3779 & 0xFFFFFF;
    }
    return bitmap(labels, colours);
  }

  private static Bitmap mask(Answer.Mask mask) {
    ByteBuffer levels = mask.mask();
    int[] colours = new int[levels.remaining()];
    for (int i = 0; i < colours.length; ++i) colours[i] = (255 - (levels.get(i) & 0xFF)) / 2 << 24 | 0x004020;
    return bitmap(mask, colours);
  }
}
