// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One network for one input size, from Model.session(). It keeps the model alive. Calls of several threads wait for
 * each other. Different sessions run in parallel, unless they share States.
 *
 * <pre>
 * ByteBuffer pixels = session.inputs().get(0).allocate(); // direct, in the machine's byte order
 * fill(pixels.asFloatBuffer());
 * session.setInput(0, pixels);
 * session.run();
 * FloatBuffer logits = session.output(0).asFloatBuffer();
 * </pre>
 *
 * Data is copied: the session's memory is not exposed.
 */
public final class Session extends Handle {
  /** The index for a session without a batch. */
  private static final int ALONE = -1;

  @SuppressWarnings("unused") // keeps it alive: Model.memory
  private final @Nullable Object memory;
  private final int inputCount;
  private final int outputCount;
  /** The lock of its states, which other sessions may share; acquired after the session's own. */
  private final Lock states;

  Session(long pointer, @Nullable Object memory, int inputCount, int outputCount, Lock states) {
    this(pointer, memory, inputCount, outputCount, states, new ReentrantLock(true));
  }

  private Session(long pointer, @Nullable Object memory, int inputCount, int outputCount, Lock states, Lock lock) {
    super("session", pointer, lock, lock);
    this.states = states;
    this.memory = memory;
    this.inputCount = inputCount;
    this.outputCount = outputCount;
  }

  /** At the session's present input size. */
  public List<TensorInfo> inputs() {
    return tensors(0, inputCount);
  }

  public List<TensorInfo> outputs() {
    return tensors(1, outputCount);
  }

  private List<TensorInfo> tensors(int kind, int count) {
    long session = begin();
    try {
      return tensors(session, kind, count);
    } finally {
      done();
    }
  }

  private static List<TensorInfo> tensors(long session, int kind, int count) {
    Parcel parcel = new Parcel();
    Native.check(Native.sessionTensors(session, kind, count, parcel));
    return TensorInfo.all(parcel);
  }

  /** Sets the shapes of all inputs, channels last, in their order. On failure nothing changes. */
  public void resize(int[]... shapes) {
    if (shapes.length != inputCount) {
      throw new IllegalArgumentException(shapes.length + " shapes were given, the network takes " + inputCount);
    }
    int length = 0;
    for (int[] shape : shapes) length += 1 + shape.length;
    int[] all = new int[length];
    int next = 0;
    for (int[] shape : shapes) {
      all[next++] = shape.length;
      for (int side : shape) all[next++] = side;
    }
    long session = begin();
    states.lock(); // shapes depend on the states' length
    try {
      Native.check(Native.resize(session, all, inputCount));
    } finally {
      states.unlock();
      done();
    }
  }

  /** Copies an input's elements from a direct buffer in native byte order, position to limit. */
  public void setInput(int index, ByteBuffer from) {
    ByteBuffer bytes = Native.direct("the input", ordered(from));
    long session = begin();
    try {
      Native.check(Native.writeInput(session, index, bytes));
    } finally {
      done();
    }
  }

  /** Preprocesses a frame into input 0. Its planes are read during the call only. */
  public void setFrame(Frame frame) {
    long session = begin();
    try {
      Native.check(Native.setFrame(session, frame.numbers(), frame.plane(0), frame.plane(1), frame.plane(2)));
    } finally {
      done();
    }
  }

  /** The same for an image. If the preprocessing has no resize, input 0 is resized to the image's size. */
  public void setImage(Image image) {
    set(ALONE, image);
  }

  /** Sets image `index` of a batch: for networks converted for several images, or resized to several. */
  public void setImage(int index, Image image) {
    set(place(index), image);
  }

  private void set(int index, Image image) {
    long session = begin();
    try {
      Native.check(Native.setImage(session, index, image.width(), image.height(), image.memory()));
    } finally {
      done();
    }
  }

  /** Computes outputs and taps. FerryException, CANCELLED: by cancel() or close(). */
  public void run() {
    long session = begin();
    states.lock();
    try {
      Native.check(Native.run(session));
    } finally {
      states.unlock();
      done();
    }
  }

  /** Ends a run in progress; does nothing without one. Any thread. */
  public void cancel() {
    cancelCall();
  }

  /** A copy of an output, in native byte order. */
  public ByteBuffer output(int index) {
    if (index < 0 || index >= outputCount) {
      throw new IllegalArgumentException("output " + index + ": the network has " + outputCount);
    }
    long session = begin();
    try {
      ByteBuffer out = tensors(session, 1, outputCount).get(index).allocate();
      Native.check(Native.readOutput(session, index, out));
      return out;
    } finally {
      done();
    }
  }

  /** Copies an output to a direct buffer in native byte order, from its position on; allocates nothing. */
  public void output(int index, ByteBuffer to) {
    ByteBuffer room = Native.direct("the output", writable(ordered(to)));
    long session = begin();
    try {
      Native.check(Native.readOutput(session, index, room));
    } finally {
      done();
    }
  }

  /** A copy of an intermediate tensor of the last run, by the framework's module name; options.taps() must name it. */
  public ByteBuffer tap(String name) {
    byte[] text = Native.texts(name);
    Parcel parcel = new Parcel();
    long session = begin();
    try {
      Native.check(Native.tap(session, text, parcel));
      ByteBuffer out = TensorInfo.one(parcel).allocate();
      Native.check(Native.readTap(session, text, out));
      return out;
    } finally {
      done();
    }
  }

  /** The most probable classes of the last run, best first. */
  public List<Answer.Classification> topClasses(int count) {
    return best(ALONE, count);
  }

  /** The classes of image `index` of a batch. */
  public List<Answer.Classification> topClasses(int index, int count) {
    return best(place(index), count);
  }

  private List<Answer.Classification> best(int index, int count) {
    Parcel parcel = new Parcel();
    long session = begin();
    try {
      Native.check(Native.topClasses(session, index, count, parcel));
    } finally {
      done();
    }
    return Answer.Classification.all(parcel);
  }

  /** The embedding of image `index` of the last run's batch: pooled features, L2-normalised if the model does so. */
  public float[] embedding(int index) {
    Parcel parcel = new Parcel();
    long session = begin();
    try {
      Native.check(Native.embedding(session, place(index), parcel));
    } finally {
      done();
    }
    return parcel.values;
  }

  /** The session's states; close them separately. FerryException, NOT_FOUND: its network has none. */
  public States states() {
    long[] handle = new long[1];
    long session = begin();
    try {
      Native.check(Native.sessionStates(session, handle));
    } finally {
      done();
    }
    return new States(handle[0], memory, states);
  }

  /** States.length() of its states. */
  public int stateLength() {
    try (States held = states()) {
      return held.length();
    }
  }

  /** States.truncate() of its states. */
  public void truncateStates(int length) {
    try (States held = states()) {
      held.truncate(length);
    }
  }

  /** States.save() of its states. */
  public void saveStates(String path) {
    try (States held = states()) {
      held.save(path);
    }
  }

  /** States.load() of its states. */
  public void loadStates(String path) {
    try (States held = states()) {
      held.load(path);
    }
  }

  /** The time of each operator in the last run; empty unless the options had profile(true). */
  public List<OperatorTime> profile() {
    Parcel parcel = new Parcel();
    long session = begin();
    try {
      Native.check(Native.profile(session, parcel));
    } finally {
      done();
    }
    return OperatorTime.all(parcel);
  }

  /**
   * Runs each GPU kernel of the session 128 times at the session's own size, on made-up inputs, and compares the
   * results bit by bit with each other and one with the CPU. Stops after about `seconds`, for an app's idle time; 0:
   * checks all. Wrong kernels are no longer used. With a cacheDir(), verdicts are kept for later sessions. Inputs and outputs keep
   * their contents. FerryException, GPU_UNAVAILABLE: the session is on the CPU; UNSUPPORTED: the library was built
   * without FERRY_GPU_CHECKS, the default on ARM.
   */
  public KernelCheck checkKernels(double seconds) {
    Parcel parcel = new Parcel();
    long session = begin();
    states.lock();
    try {
      Native.check(Native.checkKernels(session, seconds, parcel));
    } finally {
      states.unlock();
      done();
    }
    return new KernelCheck(parcel);
  }

  /** Where the last run was computed, or the next will be. */
  public Report report() {
    Parcel parcel = new Parcel();
    long session = begin();
    try {
      Native.check(Native.report(session, parcel));
    } finally {
      done();
    }
    return new Report(parcel);
  }

  private static int place(int index) {
    if (index < 0) throw new IllegalArgumentException("image " + index + ": a batch begins with 0");
    return index;
  }

  private static ByteBuffer ordered(ByteBuffer buffer) {
    if (buffer.order() != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException("the buffer's order is " + buffer.order()
          + ", as Java makes them: set it with order(ByteOrder.nativeOrder())");
    }
    return buffer;
  }

  private static ByteBuffer writable(ByteBuffer buffer) {
    if (buffer.isReadOnly()) throw new IllegalArgumentException("the buffer cannot be written");
    return buffer;
  }

  @Override
  void free(long pointer) {
    Native.closeSession(pointer);
  }

  @Override
  void stop(long pointer) {
    Native.cancelSession(pointer);
  }
}
