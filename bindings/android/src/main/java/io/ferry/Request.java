// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.ArrayList;
import java.util.List;

/** What a task is asked: an image or a frame, and what the task takes beside it. Setters return it. */
public final class Request {
  private final Image image;
  private final Frame frame;
  private Image mask;
  private int top;
  private int tile;
  private int maskIndex;
  private boolean refine;
  private Progress progress;
  private float[] box;
  private final List<float[]> points = new ArrayList<float[]>();

  private Request(Image image, Frame frame) {
    this.image = image;
    this.frame = frame;
  }

  public static Request of(Image image) {
    return new Request(image, null);
  }

  /** For answers that need none of the image's own pixels: classes, vectors, depth, labels, masks, boxes. */
  public static Request of(Frame frame) {
    return new Request(null, frame);
  }

  /** The last run's image again, where the task takes points or a box: its network is not run anew. */
  public static Request again() {
    return new Request(null, null);
  }

  /** How many classes; 0: as many as the model says. */
  public Request top(int count) {
    top = count;
    return this;
  }

  /** Side of the tiles that a large image is cut into, in its pixels; 0: automatic. */
  public Request tile(int side) {
    tile = side;
    return this;
  }

  /** Of the image's size: where its red is above 127 the image is painted anew. */
  public Request mask(Image value) {
    mask = value;
    return this;
  }

  /** A pixel of the thing that is meant. */
  public Request point(float x, float y) {
    points.add(new float[] {x, y, 0});
    return this;
  }

  /** A pixel that does not belong to it. */
  public Request pointOutside(float x, float y) {
    points.add(new float[] {x, y, 1});
    return this;
  }

  /** Around the thing. */
  public Request box(float left, float top, float right, float bottom) {
    box = new float[] {left, top, right, bottom};
    return this;
  }

  /** 0: the best mask; otherwise the network's first, second... */
  public Request maskIndex(int index) {
    maskIndex = index;
    return this;
  }

  /** The last run's mask is a prompt, too. */
  public Request refine(boolean value) {
    refine = value;
    return this;
  }

  /** Who is told of each part of the work that is done; null: nobody. */
  public Request progress(Progress value) {
    progress = value;
    return this;
  }

  int run(long task, Parcel answer) {
    int[] numbers = {top, tile, maskIndex, refine ? 1 : 0, box != null ? 1 : 0, image != null ? image.width() : 0,
        image != null ? image.height() : 0, mask != null ? mask.width() : 0, mask != null ? mask.height() : 0};
    float[] prompts = new float[(box != null ? 4 : 0) + 3 * points.size()];
    int next = 0;
    if (box != null) {
      System.arraycopy(box, 0, prompts, 0, 4);
      next = 4;
    }
    for (float[] point : points) {
      System.arraycopy(point, 0, prompts, next, 3);
      next += 3;
    }
    return Native.runTask(task, numbers, prompts, image != null ? image.memory() : null,
        mask != null ? mask.memory() : null, frame != null ? frame.numbers() : null,
        frame != null ? frame.plane(0) : null, frame != null ? frame.plane(1) : null,
        frame != null ? frame.plane(2) : null, progress, answer);
  }
}
