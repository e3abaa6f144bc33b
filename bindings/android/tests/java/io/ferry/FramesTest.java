// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import static io.ferry.Tests.direct;
import static io.ferry.Tests.equal;
import static io.ferry.Tests.floats;
import static io.ferry.Tests.golden;
import static io.ferry.Tests.near;

import java.nio.ByteBuffer;
import java.util.Random;

/** Frames of the same image are equal for every memory layout. */
final class FramesTest {
  private static final int WIDTH = 26;
  private static final int HEIGHT = 18;

  private interface Setter {
    void set(Session session);
  }

  private static float[] prepared(Setter setter) {
    try (Model model = Model.open(golden("v1_small_classifier"));
         Session session = model.session(new SessionOptions())) {
      setter.set(session);
      session.run();
      return floats(session.output(0));
    }
  }

  private static byte[] noise(int count) {
    byte[] out = new byte[count];
    new Random(1).nextBytes(out);
    return out;
  }

  public static void rgbaIsTheImageWithinALevel() {
    byte[] rgb = noise(3 * WIDTH * HEIGHT);
    byte[] rgba = new byte[4 * WIDTH * HEIGHT];
    for (int i = 0; i < WIDTH * HEIGHT; ++i) System.arraycopy(rgb, 3 * i, rgba, 4 * i, 3);
    float[] expected = prepared(s -> s.setImage(new Image(WIDTH, HEIGHT, direct(rgb))));
    near(expected, prepared(s -> s.setFrame(
        new Frame.Builder(Frame.Format.RGBA, WIDTH, HEIGHT).plane(direct(rgba), 0, 0).build())), 0.05);
    near(expected, prepared(s -> s.setFrame(
        new Frame.Builder(Frame.Format.RGB, WIDTH, HEIGHT).plane(direct(rgb), 3 * WIDTH, 3).build())), 0.05);
  }

  /** Android's YUV_420_888 often is NV21: U and V are overlapping planes. */
  public static void planesWithStridesAreNv21() {
    int stride = WIDTH + 6;
    byte[] luma = noise(stride * HEIGHT);
    byte[] chroma = noise(stride * HEIGHT / 2);
    ByteBuffer v = direct(chroma);
    ByteBuffer u = direct(chroma);
    u.position(1);
    Frame nv21 = new Frame.Builder(Frame.Format.NV21, WIDTH, HEIGHT)
        .plane(direct(luma), stride, 0).plane(direct(chroma), stride, 0).build();
    Frame planes = new Frame.Builder(Frame.Format.YUV420, WIDTH, HEIGHT)
        .plane(direct(luma), stride, 1).plane(u, stride, 2).plane(v, stride, 2).build();
    near(prepared(s -> s.setFrame(nv21)), prepared(s -> s.setFrame(planes)), 0);
  }

  public static void aFrameOnItsSideIsTurnedAndMirrored() {
    byte[] upright = noise(WIDTH * HEIGHT);
    byte[] turned = new byte[WIDTH * HEIGHT]; // HEIGHT wide: rotated clockwise, and then mirrored, it is `upright`
    for (int y = 0; y < HEIGHT; ++y) {
      for (int x = 0; x < WIDTH; ++x) {
        // Rotation clockwise moves the pixel (column, row) to (WIDTH - 1 - row, column); mirroring then to (row,
        // column).
        turned[x * HEIGHT + y] = upright[y * WIDTH + x];
      }
    }
    Frame plain = new Frame.Builder(Frame.Format.GRAY, WIDTH, HEIGHT).plane(direct(upright), 0, 0).build();
    Frame side = new Frame.Builder(Frame.Format.GRAY, HEIGHT, WIDTH)
        .plane(direct(turned), 0, 0).rotation(90).mirror(true).build();
    equal(WIDTH, side.width());
    equal(HEIGHT, side.height());
    near(prepared(s -> s.setFrame(plain)), prepared(s -> s.setFrame(side)), 1e-4);
  }

  public static void aCropIsTheImage() {
    byte[] whole = noise(WIDTH * HEIGHT);
    byte[] part = new byte[12 * 10];
    for (int y = 0; y < 10; ++y) System.arraycopy(whole, (y + 3) * WIDTH + 5, part, 12 * y, 12);
    Frame cut = new Frame.Builder(Frame.Format.GRAY, WIDTH, HEIGHT)
        .plane(direct(whole), 0, 0).crop(5, 3, 12, 10).build();
    Frame alone = new Frame.Builder(Frame.Format.GRAY, 12, 10).plane(direct(part), 0, 0).build();
    equal(12, cut.width());
    near(prepared(s -> s.setFrame(alone)), prepared(s -> s.setFrame(cut)), 0);
  }

  /** Sensors at 90 and 270 degrees, as in most phones; expected values by hand for four device orientations. */
  public static void rotationFollowsSensorAndDisplay() {
    equal(90, Frame.rotation(90, 0, false));
    equal(0, Frame.rotation(90, 90, false));
    equal(270, Frame.rotation(90, 180, false));
    equal(180, Frame.rotation(90, 270, false));
    equal(270, Frame.rotation(270, 0, true));
    equal(0, Frame.rotation(270, 90, true));
    equal(90, Frame.rotation(270, 180, true));
    equal(180, Frame.rotation(270, 270, true));
  }
}
