// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.charset.Charset;

/** Information about the library. */
public final class Ferry {
  private Ferry() {}

  /** The library's version, "0.3.0". */
  public static String version() {
    return new String(Native.version(), Charset.forName("UTF-8"));
  }
}
