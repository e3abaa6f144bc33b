// SPDX-License-Identifier: Apache-2.0
/** What depends on Android's classes: assets, files of an app, camera images, bitmaps. */
@NullMarked
package io.ferry.android;

import org.jspecify.annotations.NullMarked;
