// SPDX-License-Identifier: Apache-2.0
package androidx.test.platform.app;

import android.app.Instrumentation;

/** In place of androidx.test:monitor, for tests without Maven: compiled against only. */
public final class InstrumentationRegistry {
  private InstrumentationRegistry() {}

  public static native Instrumentation getInstrumentation();
}
