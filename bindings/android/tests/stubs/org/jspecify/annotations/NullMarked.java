// SPDX-License-Identifier: Apache-2.0
package org.jspecify.annotations;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** In place of org.jspecify:jspecify, for tests without Maven. */
@Retention(RetentionPolicy.RUNTIME)
public @interface NullMarked {}
