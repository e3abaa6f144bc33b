// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import org.jspecify.annotations.Nullable;

/** Receives the result of a Worker's task; one of the two methods is called, in the worker's thread. */
public interface Listener<T extends @Nullable Object> {
  void onResult(T result);

  /** A FerryException, an IllegalStateException if an object was closed meanwhile, or another exception of the task. */
  void onFailure(Exception failure);
}
