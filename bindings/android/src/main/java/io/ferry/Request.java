// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The input of a task: an image or a frame, and prompts. Setters return this. */
public final class Request {
  private final @Nullable Image image;
  private final @Nullable Frame frame;
  private @Nullable Image mask;
  private int top;
  private int tile;
  private int maskIndex;
  private boolean refine;
  private @Nullable Progress progress;
  private float @Nullable [] box;
  private final List<float[]> points = new ArrayList<float[]>();

  private Request(@Nullable Image image, @Nullable Frame frame) {
    this.image = image;
    this.frame = frame;
  }

  public static Request of(Image image) {
    return new Request(image, null);
  }

  /** For answers that need no RGB pixels: classes, vectors, depth, labels, masks, boxes. */
  public static Request of(Frame frame) {
    return new Request(null, frame);
  }

  /** The last run's image, for tasks with points or a box; its network is not run again. */
  public static Request again() {
    return new Request(null, null);
  }

  /** Number of classes; 0: the model's default. */
  public Request top(int count) {
    top = count;
    return this;
  }

  /** Side of the tiles of a large image, in input pixels; 0: automatic. */
  public Request tile(int side) {
    tile = side;
    return this;
  }

  /** A mask of the image's size: pixels with red above 127 are inpainted; null: none. */
  public Request mask(@Nullable Image value) {
    mask = value;
    return this;
  }

  /** A pixel of the object. */
  public Request point(float x, float y) {
    points.add(new float[] {x, y, 0});
    return this;
  }

  /** A pixel of the background. */
  public Request pointOutside(float x, float y) {
    points.add(new float[] {x, y, 1});
    return this;
  }

  /** A box around the object. */
  public Request box(float left, float top, float right, float bottom) {
    box = new float[] {left, top, right, bottom};
    return this;
  }

  /** 0: the best mask; n: the network's n-th mask. */
  public Request maskIndex(int index) {
    maskIndex = index;
    return this;
  }

  /** Uses the last run's mask as a prompt, too. */
  public Request refine(boolean value) {
    refine = value;
    return this;
  }

  /** Called after each part of the work; null: none. */
  public Request progress(@Nullable Progress value) {
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
