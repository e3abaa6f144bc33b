// SPDX-License-Identifier: Apache-2.0
package org.junit.runner;

/** In place of junit:junit, for tests without Maven: compiled against only. */
public @interface RunWith {
  Class<?> value();
}
