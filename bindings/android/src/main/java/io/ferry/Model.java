// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/**
 * A blob (`ferry convert ... -o m.ferry`), mapped and verified. Many threads may use it at once. It may be closed
 * before the sessions and tasks created from it.
 *
 * <pre>
 * try (Model model = Model.open("m.ferry"); Task task = model.task(new SessionOptions())) {
 *   Answer.Classes answer = (Answer.Classes) task.run(Request.of(frame));
 * }
 * </pre>
 *
 * Opening reads the graph and no weights; creating a session packs weights. Do both off the main thread, for example in
 * a Worker. Errors of the library are FerryExceptions; use after close() throws an IllegalStateException.
 */
public final class Model extends Handle {
  private static final int ALIGNMENT = 64;

  /** The memory of a blob opened from a buffer: it must live as long as the model and its sessions. */
  private final @Nullable Object memory;
  private final String name;
  private final String taskName;
  private final List<String> graphs;
  private final List<String> labels;
  private final int inputCount;
  private final int outputCount;

  private Model(long pointer, @Nullable Object memory, ReadWriteLock lock) {
    super("model", pointer, lock.readLock(), lock.writeLock());
    this.memory = memory;
    Parcel parcel = new Parcel();
    boolean described = false;
    try {
      Native.check(Native.describeModel(pointer, parcel));
      described = true;
    } finally {
      if (!described) close();
    }
    name = parcel.text();
    taskName = parcel.text();
    graphs = list(parcel);
    labels = list(parcel);
    inputCount = parcel.integer();
    outputCount = parcel.integer();
  }

  private static List<String> list(Parcel parcel) {
    List<String> out = new ArrayList<String>();
    for (int count = parcel.integer(); count > 0; --count) out.add(parcel.text());
    return Collections.unmodifiableList(out);
  }

  private static Model of(long[] handle, @Nullable Object memory) {
    return new Model(handle[0], memory, new ReentrantReadWriteLock());
  }

  public static Model open(String path) {
    long[] handle = new long[1];
    Native.check(Native.openPath(Native.texts(path), handle));
    return of(handle, null);
  }

  /**
   * A blob inside a larger file, `length` bytes from `offset`, mapped without a copy: an asset stored uncompressed
   * (io.ferry.android.Assets). The descriptor may be closed afterwards.
   */
  public static Model open(int descriptor, long offset, long length) {
    long[] handle = new long[1];
    Native.check(Native.openDescriptor(descriptor, offset, length, handle));
    return of(handle, null);
  }

  /**
   * A blob in memory, from the buffer's position to its limit, which must not change. A direct buffer aligned to 64
   * bytes, as from FileChannel.map(), is used without a copy; others are copied.
   */
  public static Model open(ByteBuffer blob) {
    ByteBuffer aligned = blob.slice();
    if (!aligned.isDirect() || Native.address(aligned) % ALIGNMENT != 0) {
      ByteBuffer room = ByteBuffer.allocateDirect(aligned.remaining() + ALIGNMENT);
      room.position((int) (-Native.address(room) & (ALIGNMENT - 1)));
      room = room.slice();
      room.put(aligned).flip();
      aligned = room.slice();
    }
    long[] handle = new long[1];
    Native.check(Native.openMemory(aligned, handle));
    return of(handle, aligned);
  }

  /** Opens another graph of the same blob as a model. */
  public Model graph(String graph) {
    long[] handle = new long[1];
    long model = begin();
    try {
      Native.check(Native.openGraph(model, Native.texts(graph), handle));
    } finally {
      done();
    }
    return of(handle, memory);
  }

  public String name() {
    return name;
  }

  /** The model's task: "depth", "classification", "OCR"...; "tensors" if it has none. */
  public String taskName() {
    return taskName;
  }

  /** Names of the blob's graphs; the default one first. */
  public List<String> graphs() {
    return graphs;
  }

  /** Names of the classes; empty if the blob has none. */
  public List<String> labels() {
    return labels;
  }

  /** At the blob's default input size. */
  public List<TensorInfo> inputs() {
    return tensors(0);
  }

  public List<TensorInfo> outputs() {
    return tensors(1);
  }

  /** Intermediate tensors that a session can keep, by the framework's module names. */
  public List<TensorInfo> taps() {
    return tensors(2);
  }

  private List<TensorInfo> tensors(int kind) {
    Parcel parcel = new Parcel();
    long model = begin();
    try {
      Native.check(Native.modelTensors(model, kind, parcel));
    } finally {
      done();
    }
    return TensorInfo.all(parcel);
  }

  /** Creates a session, which runs the network on tensors. */
  public Session session(SessionOptions options) {
    long[] handle = new long[1];
    States states = options.states();
    long model = begin();
    try {
      long shared = states != null ? states.begin() : 0;
      try {
        Native.check(Native.openSession(model, options.numbers(), options.longs(shared), options.texts(), handle));
      } finally {
        if (states != null) states.done();
      }
    } finally {
      done();
    }
    Lock lock = states != null ? states.lock : new ReentrantLock(true);
    return new Session(handle[0], memory, inputCount, outputCount, lock);
  }

  /** Creates empty states, for SessionOptions.states(): several sessions share them. */
  public States states() {
    long[] handle = new long[1];
    long model = begin();
    try {
      Native.check(Native.createStates(model, handle));
    } finally {
      done();
    }
    return new States(handle[0], memory, new ReentrantLock(true));
  }

  /** Creates a task: one call from an image to the answer in its pixels. */
  public Task task(SessionOptions options) {
    long[] handle = new long[1];
    long model = begin();
    try {
      Native.check(Native.openTask(model, options.numbers(), options.longs(0), options.texts(), handle));
    } finally {
      done();
    }
    return new Task(handle[0], memory);
  }

  /** The tokenizer and chat template of a language model. FerryException, NOT_FOUND: the blob has none. */
  public Text text() {
    long[] handle = new long[1];
    long model = begin();
    try {
      Native.check(NativeText.openText(model, handle));
    } finally {
      done();
    }
    return new Text(handle[0], memory);
  }

  /** Creates a generator. FerryException, UNSUPPORTED: this model is not a language model. */
  public Generator generator(SessionOptions options) {
    long[] handle = new long[1];
    long model = begin();
    try {
      Native.check(NativeText.openGenerator(model, options.numbers(), options.longs(0), options.texts(), handle));
    } finally {
      done();
    }
    return new Generator(handle[0], memory);
  }

  /**
   * Reads the whole file and compares the weights with the converter's checksum, which opening does not. Call it after
   * a download, not at every start. FerryException, CORRUPT: the weights are damaged; NOT_FOUND: the blob was written
   * before 0.2 and has no checksum.
   */
  public void check() {
    long model = begin();
    try {
      Native.check(Native.checkModel(model));
    } finally {
      done();
    }
  }

  /**
   * Completes the check of weights that the first session began beside the runs (SessionOptions.checkWeights()), or
   * makes it. FerryException, CORRUPT: they are damaged.
   */
  public void finishCheck() {
    long model = begin();
    try {
      Native.check(Native.finishCheck(model));
    } finally {
      done();
    }
  }

  /**
   * Audits a GPU: replays every kernel of the model at its own sizes for `seconds` (0: each once in turn), with the
   * model's weights and made-up inputs, and counts the runs that differ. `options` choose the device, the precision and
   * the caches. It cannot be cancelled: use a thread of its own. FerryException, GPU_UNAVAILABLE; UNSUPPORTED: the
   * library was built without FERRY_GPU_CHECKS, the default on ARM.
   */
  public Audit audit(SessionOptions options, double seconds) {
    Parcel parcel = new Parcel();
    long model = begin();
    try {
      int[] numbers = options.numbers();
      Native.check(Native.audit(model, numbers, options.longs(0), options.texts(), seconds, parcel));
    } finally {
      done();
    }
    return new Audit(parcel);
  }

  /**
   * Checks on this device that results match the framework's: runs the network on stored inputs and compares every
   * stage. It costs little more than one inference. FerryException, NOT_FOUND: the blob has no certificate.
   */
  public Verification verify(SessionOptions options) {
    Parcel parcel = new Parcel();
    long model = begin();
    try {
      Native.check(Native.verify(model, options.numbers(), options.longs(0), options.texts(), parcel));
    } finally {
      done();
    }
    return new Verification(parcel);
  }

  /** Frees it, after calls in progress. Objects created from it stay usable. */
  @Override
  public void close() {
    super.close();
  }

  @Override
  void free(long pointer) {
    Native.closeModel(pointer);
  }

  @Override
  void stop(long pointer) {} // no call can be cancelled
}
