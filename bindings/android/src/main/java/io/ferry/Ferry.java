// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.charset.Charset;

/** The library itself. */
public final class Ferry {
  private Ferry() {}

  /** "0.2.0" */
  public static String version() {
    return new String(Native.version(), Charset.forName("UTF-8"));
  }
}
