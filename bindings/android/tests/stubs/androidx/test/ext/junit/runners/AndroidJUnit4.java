// SPDX-License-Identifier: Apache-2.0
package androidx.test.ext.junit.runners;

/** In place of androidx.test.ext:junit, for tests without Maven: compiled against only. */
public final class AndroidJUnit4 {}
