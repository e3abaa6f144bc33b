// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Text generation by a language model, from Model.generator().
 *
 * <pre>
 * try (Generator story = model.generator(new SessionOptions())) {
 *   story.append("Once upon a time");
 *   for (Generator.Token token = story.next(); !token.ended(); token = story.next()) show(token.text());
 * }
 * </pre>
 *
 * It keeps the model's KV cache, so each new token costs one run over that token. Prompt and answer together have at
 * most maxLength() tokens; beyond it, calls throw a FerryException, STATE_FULL. Calls of several threads wait for each
 * other. Use a Worker to keep it off an app's main thread.
 */
public final class Generator extends Handle {
  /** A generated token. */
  public static final class Token {
    private final int id;
    private final double logProbability;
    private final boolean ended;
    private final String text;

    private Token(Parcel parcel) {
      id = parcel.integer();
      logProbability = parcel.number();
      ended = parcel.truth();
      text = parcel.words();
    }

    public int id() {
      return id;
    }

    /** Natural logarithm of the token's probability in the network's softmax, regardless of sampling. */
    public double logProbability() {
      return logProbability;
    }

    /** Whether it is an end token or completes a stop string. */
    public boolean ended() {
      return ended;
    }

    /** The characters that it completes: none, one or several. */
    public String text() {
      return text;
    }
  }

  @SuppressWarnings("unused") // keeps it alive: Model.memory
  private final @Nullable Object memory;

  Generator(long pointer, @Nullable Object memory) {
    this(pointer, memory, new ReentrantLock(true));
  }

  private Generator(long pointer, @Nullable Object memory, Lock lock) {
    super("generator", pointer, lock, lock);
    this.memory = memory;
  }

  /** Settings for the following tokens. */
  public void sampling(Sampling sampling) {
    long generator = begin();
    try {
      Native.check(sampling.set(generator));
    } finally {
      done();
    }
  }

  /** What the model's authors recommend (generation_config.json); null: nothing. */
  public @Nullable Sampling recommendedSampling() {
    long generator = begin();
    try {
      return Sampling.recommended(generator);
    } finally {
      done();
    }
  }

  /** Appends text. It is processed by the next call of next(). */
  public void append(String words) {
    long generator = begin();
    try {
      Native.check(NativeText.appendText(generator, Native.utf8(words)));
    } finally {
      done();
    }
  }

  public void append(int... tokens) {
    long generator = begin();
    try {
      Native.check(NativeText.append(generator, tokens));
    } finally {
      done();
    }
  }

  /**
   * Replaces the text by one from Text.chat(). Results for a common prefix are kept, if the network can be truncated
   * there.
   */
  public void setText(String words) {
    long generator = begin();
    try {
      Native.check(NativeText.setText(generator, Native.utf8(words)));
    } finally {
      done();
    }
  }

  public void setTokens(int... tokens) {
    long generator = begin();
    try {
      Native.check(NativeText.setTokens(generator, tokens));
    } finally {
      done();
    }
  }

  /** Appends an image, for models with vision. FerryException, UNSUPPORTED: the model accepts text only. */
  public void append(Image image) {
    see(image, false);
  }

  /** Adds an image for a placeholder in a text that is appended or set later. */
  public void add(Image image) {
    see(image, true);
  }

  private void see(Image image, boolean withText) {
    long generator = begin();
    try {
      Native.check(NativeText.appendImage(generator, image.width(), image.height(), image.memory(), withText));
    } finally {
      done();
    }
  }

  /**
   * Generates the next token and appends it to the text. After FerryException, CANCELLED, call it again to continue.
   */
  public Token next() {
    Parcel parcel = new Parcel();
    long generator = begin();
    try {
      Native.check(NativeText.next(generator, parcel));
    } finally {
      done();
    }
    return new Token(parcel);
  }

  /** The text's tokens. */
  public int[] tokens() {
    Parcel parcel = described();
    parcel.integer();
    return parcel.integers();
  }

  /** Maximum number of tokens of the text. */
  public int maxLength() {
    return described().integer();
  }

  private Parcel described() {
    Parcel parcel = new Parcel();
    long generator = begin();
    try {
      Native.check(NativeText.describeGenerator(generator, parcel));
    } finally {
      done();
    }
    return parcel;
  }

  /**
   * Saves the text, the KV cache and a note of the app as one file. It is written beside `path` and renamed, and can
   * only be loaded with the same version of the same blob. FerryException, UNSUPPORTED: the text has images.
   */
  public void save(String path, byte[] note) {
    long generator = begin();
    try {
      Native.check(NativeText.save(generator, Native.texts(path), note));
    } finally {
      done();
    }
  }

  /** Restores a saved file and returns its note, whose content is untrusted. */
  public byte[] load(String path) {
    Parcel parcel = new Parcel();
    long generator = begin();
    try {
      Native.check(NativeText.load(generator, Native.texts(path), parcel));
    } finally {
      done();
    }
    return parcel.bytes;
  }

  /** Removes the text and its images. */
  public void reset() {
    long generator = begin();
    try {
      Native.check(NativeText.reset(generator));
    } finally {
      done();
    }
  }

  /** Ends a running next(); does nothing without one. Any thread. */
  public void cancel() {
    cancelCall();
  }

  /** Where the session runs. */
  public Report report() {
    Parcel parcel = new Parcel();
    long generator = begin();
    try {
      Native.check(Native.report(NativeText.generatorSession(generator), parcel));
    } finally {
      done();
    }
    return new Report(parcel);
  }

  @Override
  void free(long pointer) {
    NativeText.closeGenerator(pointer);
  }

  @Override
  void stop(long pointer) {
    NativeText.cancelGenerator(pointer);
  }
}
