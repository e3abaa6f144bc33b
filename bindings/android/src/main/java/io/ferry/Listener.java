// SPDX-License-Identifier: Apache-2.0
package io.ferry;

/** Receives the result of a Worker's task; one of the two methods is called, in the worker's thread. */
public interface Listener<T> {
  void onResult(T result);

  /** A FerryException, an IllegalStateException if an object was closed meanwhile, or another exception of the task. */
  void onFailure(Exception failure);
}
