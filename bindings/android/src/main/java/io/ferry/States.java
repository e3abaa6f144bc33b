// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.locks.Lock;

/**
 * What a network remembers from run to run, the keys and values of a language model's tokens: a session's own,
 * Session.states(), or made by Model.states() for several sessions, of one graph or of several of the same blob.
 *
 * <pre>
 * States conversation = model.states();
 * SessionOptions options = new SessionOptions().states(conversation);
 * Session prefill = model.graph("prefill").session(options); // many tokens a run
 * Session decode = model.graph("decode").session(options);   // one token a run
 * </pre>
 *
 * One run or call uses them at a time: a second one waits, in whichever session it is. Sessions go on holding them when
 * they are closed.
 */
public final class States extends Handle {
  final Lock lock;
  @SuppressWarnings("unused") // held: Model.memory
  private final Object memory;

  States(long pointer, Object memory, Lock lock) {
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

  /** How many tokens the longest holds: the place that the next one gets. */
  public int length() {
    return describe().integer();
  }

  /** The length that all of them can have. */
  public int bound() {
    Parcel parcel = describe();
    parcel.integer();
    return parcel.integer();
  }

  /** Of memory that they have. */
  public long bytes() {
    Parcel parcel = describe();
    parcel.integer();
    parcel.integer();
    return (long) parcel.number();
  }

  /** Each one's name, type and shape, as long as it is now. */
  public List<TensorInfo> tensors() {
    return tensors(describe());
  }

  private static List<TensorInfo> tensors(Parcel parcel) {
    for (int i = 0; i < 3; ++i) parcel.number();
    return TensorInfo.all(parcel);
  }

  /** A copy of what one of tensors() holds, in the machine's byte order. */
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

  /** Takes memory for that length, or for the bound where it is less, so that runs up to it take none. */
  public void reserve(int length) {
    long states = begin();
    try {
      Native.check(Native.reserveStates(states, length));
    } finally {
      done();
    }
  }

  /** Forgets everything; memory is kept. */
  public void reset() {
    truncate(0);
  }

  /**
   * Goes back to an earlier token. FerryException, UNSUPPORTED: states that go back to 0 alone, or have dropped what
   * would be seen from there; nothing changes.
   */
  public void truncate(int length) {
    long states = begin();
    try {
      Native.check(Native.truncateStates(states, length));
    } finally {
      done();
    }
  }

  /** What they hold as a file, written beside `path` and renamed; it fits this version of the blob only. */
  public void save(String path) {
    byte[] text = Native.texts(path);
    long states = begin();
    try {
      Native.check(Native.saveStates(states, text));
    } finally {
      done();
    }
  }

  /** Replaces what they hold by a file's. On failure that stays as it was. */
  public void load(String path) {
    byte[] text = Native.texts(path);
    long states = begin();
    try {
      Native.check(Native.loadStates(states, text));
    } finally {
      done();
    }
  }

  /** Lets go of them; waits for a run or a call that is under way. Sessions that share them go on. */
  @Override
  public void close() {
    super.close();
  }

  @Override
  void free(long pointer) {
    Native.closeStates(pointer);
  }

  @Override
  void stop(long pointer) {} // a run is its session's to cancel
}
