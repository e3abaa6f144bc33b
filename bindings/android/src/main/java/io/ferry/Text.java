// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.List;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * The tokenizer and the chat template in a language model's blob: Model.text(). Any number of threads may use it, and
 * it goes on when the model is closed. Token ids are indices into the model's vocabulary.
 */
public final class Text extends Handle {
  /** What somebody said: "system", "user", "assistant". */
  public static final class Message {
    final String role;
    final String content;

    public Message(String role, String content) {
      this.role = role;
      this.content = content;
    }
  }

  @SuppressWarnings("unused") // held: Model.memory
  private final Object memory;

  Text(long pointer, Object memory) {
    this(pointer, memory, new ReentrantReadWriteLock());
  }

  private Text(long pointer, Object memory, ReadWriteLock lock) {
    super("text", pointer, lock.readLock(), lock.writeLock());
    this.memory = memory;
  }

  /**
   * The ids of a whole text; `special`: with those that stand before and behind every text, where the model has them.
   * Special tokens that are written in the text are recognised either way.
   */
  public int[] encode(String words, boolean special) {
    Parcel parcel = new Parcel();
    long text = begin();
    try {
      Native.check(NativeText.encode(text, Native.utf8(words), special, parcel));
    } finally {
      done();
    }
    return parcel.integers();
  }

  /** The text of a whole sequence of ids; bytes that form no character are U+FFFD. */
  public String decode(int... tokens) {
    Parcel parcel = new Parcel();
    long text = begin();
    try {
      Native.check(NativeText.decode(text, tokens, parcel));
    } finally {
      done();
    }
    return parcel.words();
  }

  /**
   * A conversation as the model reads it, by its chat template, up to where its answer begins; for Generator.setText().
   * FerryException, NOT_FOUND: the blob has no template.
   */
  public String chat(List<Message> messages) {
    String[] each = new String[2 * messages.size()];
    for (int i = 0; i < messages.size(); ++i) {
      each[2 * i] = messages.get(i).role;
      each[2 * i + 1] = messages.get(i).content;
    }
    Parcel parcel = new Parcel();
    long text = begin();
    try {
      Native.check(NativeText.chat(text, Native.texts(each), parcel));
    } finally {
      done();
    }
    return parcel.words();
  }

  /**
   * The same with all that the template has variables for, as a JSON object: "messages", "tools", "documents",
   * "add_generation_prompt"...
   */
  public String render(String json) {
    Parcel parcel = new Parcel();
    long text = begin();
    try {
      Native.check(NativeText.render(text, Native.utf8(json), parcel));
    } finally {
      done();
    }
    return parcel.words();
  }

  /** Frees it; waits for calls that are under way. */
  @Override
  public void close() {
    super.close();
  }

  @Override
  void free(long pointer) {
    NativeText.closeText(pointer);
  }

  @Override
  void stop(long pointer) {} // none of its calls can be cancelled
}
