// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A text, and how a language model goes on with it: Model.generator().
 *
 * <pre>
 * try (Generator story = model.generator(new SessionOptions())) {
 *   story.append("Once upon a time");
 *   for (Generator.Token token = story.next(); !token.ended(); token = story.next()) show(token.text());
 * }
 * </pre>
 *
 * It keeps what the model remembers of its text: a token costs one run over that token. Prompt and answer together have
 * at most maxLength() tokens; beyond, calls are a FerryException, STATE_FULL. One thread at a time uses it, a second
 * one waits. Worker keeps it off an app's main thread.
 */
public final class Generator extends Handle {
  /** What next() gave. */
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

    /** Natural logarithm of the probability that the network gave it, whatever the sampling. */
    public double logProbability() {
      return logProbability;
    }

    /** Is it one with which a text ends, or does it complete a stop string? */
    public boolean ended() {
      return ended;
    }

    /** The characters that it completed: none, one or several. */
    public String text() {
      return text;
    }
  }

  @SuppressWarnings("unused") // held: Model.memory
  private final Object memory;

  Generator(long pointer, Object memory) {
    this(pointer, memory, new ReentrantLock(true));
  }

  private Generator(long pointer, Object memory, Lock lock) {
    super("generator", pointer, lock, lock);
    this.memory = memory;
  }

  /** From the next token on. */
  public void sampling(Sampling sampling) {
    long generator = begin();
    try {
      Native.check(sampling.set(generator));
    } finally {
      done();
    }
  }

  /** Puts text behind what there is; it is run with the next next(). */
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
   * Replaces the text, as Text.chat() wrote it: what has been computed of a common beginning is kept, where the network
   * can go back.
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

  /** Puts an image behind the text, for models that see. FerryException, UNSUPPORTED: the model does not. */
  public void append(Image image) {
    see(image, false);
  }

  /** Sees an image for which a text that comes later, by append() or setText(), has a token. */
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

  /** The next token, which becomes the text's last one. FerryException, CANCELLED: another call goes on from there. */
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

  /** How many tokens the text may have. */
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
   * The text, and what the model remembers of it, as one file, with a note of the app's own; it is written beside and
   * renamed, and fits this version of the blob only. FerryException, UNSUPPORTED: the text has images.
   */
  public void save(String path, byte[] note) {
    long generator = begin();
    try {
      Native.check(NativeText.save(generator, Native.texts(path), note));
    } finally {
      done();
    }
  }

  /** Replaces the text by a file's, and gives its note, which a stranger may have written. */
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

  /** Forgets the text and its images. */
  public void reset() {
    long generator = begin();
    try {
      Native.check(NativeText.reset(generator));
    } finally {
      done();
    }
  }

  /** Makes the next() in progress end; without one it does nothing. Any thread. */
  public void cancel() {
    cancelCall();
  }

  /** Where it runs. */
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
