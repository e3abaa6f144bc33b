// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.charset.Charset;

/** The library's version, and text for people. */
public final class Ferry {
  private Ferry() {}

  /** The library's version, "0.3.0". */
  public static String version() {
    return new String(Native.version(), Charset.forName("UTF-8"));
  }

  /**
   * Labels, names and generated texts come from files, which may hide escape sequences for terminals in them, marks
   * that reverse text, or line ends. Returns `text` for people. `lines` false: as one line, in which these become "\\n",
   * "\\x1b" or "\\u202e"; true: line ends and tabs stay, the other ones are removed.
   */
  public static String printable(String text, boolean lines) {
    Parcel parcel = new Parcel();
    String ended = text.replace('\0', '\uFFFD'); // a C string ends with a NUL
    Native.check(Native.printable(Native.texts(ended), lines, parcel));
    return parcel.text();
  }
}
