// SPDX-License-Identifier: Apache-2.0
package io.ferry;

/** How a piece of a Worker's work ended; told in the worker's thread, one of the two. */
public interface Listener<T> {
  void onResult(T result);

  /** A FerryException; an IllegalStateException where something was closed meanwhile; what else the work throws. */
  void onFailure(Exception failure);
}
