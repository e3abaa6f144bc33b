// SPDX-License-Identifier: Apache-2.0
package org.junit;

/** In place of junit:junit, for tests without Maven: compiled against only. */
public class Assert {
  public static native void assertTrue(boolean truth);

  public static native void assertTrue(String otherwise, boolean truth);

  public static native void assertEquals(Object expected, Object found);

  public static native void assertEquals(String otherwise, Object expected, Object found);

  public static native void assertEquals(float expected, float found, float tolerance);

  public static native void assertEquals(String otherwise, float expected, float found, float tolerance);
}
