// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.locks.Lock;
import org.jspecify.annotations.Nullable;

/**
 * Data that a network keeps between runs, such as a language model's KV cache. Session.states() returns a session's
 * own; Model.states() creates states that several sessions share, of one or several graphs of the same blob.
 *
 * <pre>
 * States conversation = model.states();
 * SessionOptions options = new SessionOptions().states(conversation);
 * Session prefill = model.graph("prefill").session(options); // many tokens a run
 * Session decode = model.graph("decode").session(options);   // one token a run
 * </pre>
 *
 * Only one run or call uses them at a time; others wait, in any session. Sessions keep them open after close().
 */
public final class States extends Handle {
  final Lock lock;
  @SuppressWarnings("unused") // keeps it alive: Model.memory
  private final @Nullable Object memory;

  States(long pointer, @Nullable Object memory, Lock lock) {
    super("states object", pointer, lock, lock);
    this.memory = memory;
    this.lock = lock;
  }

  private Parcel describe() {
    Parcel parcel = new Parcel();
    long states = begin();
    try {
      Native.check(Native.describeStates(states, parcel));
    } finally {
      done();
    }
    return parcel;
  }

  /** Length of the longest state in tokens: the position of the next token. */
  public int length() {
    return describe().integer();
  }

  /** The maximum length that all states support, in tokens. */
  public int bound() {
    Parcel parcel = describe();
    parcel.integer();
    return parcel.integer();
  }

  /** Bytes of memory allocated for the states. */
  public long bytes() {
    Parcel parcel = describe();
    parcel.integer();
    parcel.integer();
    return (long) parcel.number();
  }

  /** Name, type and present shape of each state. */
  public List<TensorInfo> tensors() {
    return tensors(describe());
  }

  private static List<TensorInfo> tensors(Parcel parcel) {
    for (int i = 0; i < 3; ++i) parcel.number();
    return TensorInfo.all(parcel);
  }

  /** A copy of the contents of one of tensors(), in native byte order. */
  public ByteBuffer contents(int index) {
    Parcel parcel = new Parcel();
    long states = begin();
    try {
      Native.check(Native.describeStates(states, parcel));
      List<TensorInfo> all = tensors(parcel);
      if (index < 0 || index >= all.size()) {
        throw new IllegalArgumentException("state " + index + ": there are " + all.size());
      }
      ByteBuffer out = all.get(index).allocate();
      Native.check(Native.readState(states, index, out));
      return out;
    } finally {
      done();
    }
  }

  /** Allocates memory for that length in tokens (at most the bound), so that runs up to it allocate nothing. */
  public void reserve(int length) {
    long states = begin();
    try {
      Native.check(Native.reserveStates(states, length));
    } finally {
      done();
    }
  }

  /** Empties all states and keeps their memory. */
  public void reset() {
    truncate(0);
  }

  /**
   * Cuts the states to an earlier length. FerryException, UNSUPPORTED: a state supports only 0, or has dropped tokens
   * needed there; nothing changes.
   */
  public void truncate(int length) {
    long states = begin();
    try {
      Native.check(Native.truncateStates(states, length));
    } finally {
      done();
    }
  }

  /**
   * Saves the contents to a file, which is written beside `path` and renamed. It can only be loaded with the same
   * version of the same blob.
   */
  public void save(String path) {
    byte[] text = Native.texts(path);
    long states = begin();
    try {
      Native.check(Native.saveStates(states, text));
    } finally {
      done();
    }
  }

  /** Replaces the contents by a file's. On failure they are unchanged. */
  public void load(String path) {
    byte[] text = Native.texts(path);
    long states = begin();
    try {
      Native.check(Native.loadStates(states, text));
    } finally {
      done();
    }
  }

  /** Releases them, after a run or a call in progress. Sessions that share them stay usable. */
  @Override
  public void close() {
    super.close();
  }

  @Override
  void free(long pointer) {
    Native.closeStates(pointer);
  }

  @Override
  void stop(long pointer) {} // runs are cancelled through their session
}
