// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;

/** An 8-bit RGB image in a direct buffer, top row first, without gaps. */
public final class Image {
  private final int width;
  private final int height;
  private final ByteBuffer pixels;

  /** `pixels`: a direct buffer, RGBRGB... from its position; it must not change while the image is used. */
  public Image(int width, int height, ByteBuffer pixels) {
    this.width = width;
    this.height = height;
    this.pixels = Native.direct("the image", pixels);
    if (width <= 0 || height <= 0 || this.pixels.remaining() / 3 / width < height) {
      throw new IllegalArgumentException("an image of " + width + "x" + height + " pixels is "
          + 3L * width * height + " bytes, the buffer has " + this.pixels.remaining());
    }
  }

  static Image of(Parcel parcel) {
    int width = parcel.integer();
    int height = parcel.integer();
    ByteBuffer pixels = ByteBuffer.allocateDirect(parcel.bytes.length);
    pixels.put(parcel.bytes).flip();
    return new Image(width, height, pixels);
  }

  /** Decodes a JPEG, PNG or BMP, and applies its Exif orientation. */
  public static Image load(String path) {
    Parcel parcel = new Parcel();
    Native.check(Native.loadImage(Native.texts(path), parcel));
    return of(parcel);
  }

  /** The same from a direct buffer, position to limit. */
  public static Image decode(ByteBuffer file) {
    Parcel parcel = new Parcel();
    Native.check(Native.decodeImage(Native.direct("the file", file), parcel));
    return of(parcel);
  }

  /** Writes a PNG; no partial file is left behind. */
  public void savePng(String path) {
    Native.check(Native.saveImage(width, height, pixels, Native.texts(path)));
  }

  public int width() {
    return width;
  }

  public int height() {
    return height;
  }

  /** A read-only view; 3 * width bytes per row. */
  public ByteBuffer pixels() {
    return pixels.asReadOnlyBuffer();
  }

  ByteBuffer memory() {
    return pixels;
  }
}
