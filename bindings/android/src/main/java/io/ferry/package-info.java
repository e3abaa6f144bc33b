// SPDX-License-Identifier: Apache-2.0
/**
 * Runs Ferry's blobs: models, sessions, frames, tasks and language models. Parameters and results are never null,
 * unless they are marked Nullable.
 */
@NullMarked
package io.ferry;

import org.jspecify.annotations.NullMarked;
