// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.List;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/**
 * The tokenizer and chat template of a language model's blob, from Model.text(). Many threads may use it at once, and
 * it stays usable when the model is closed. Token ids are indices into the model's vocabulary.
 */
public final class Text extends Handle {
  /** One message: its role is "system", "user" or "assistant". */
  public static final class Message {
    final String role;
    final String content;

    public Message(String role, String content) {
      this.role = role;
      this.content = content;
    }
  }

  @SuppressWarnings("unused") // keeps it alive: Model.memory
  private final @Nullable Object memory;

  Text(long pointer, @Nullable Object memory) {
    this(pointer, memory, new ReentrantReadWriteLock());
  }

  private Text(long pointer, @Nullable Object memory, ReadWriteLock lock) {
    super("text", pointer, lock.readLock(), lock.writeLock());
    this.memory = memory;
  }

  /**
   * The token ids of a text; `special` adds the tokens that begin and end a text, if the model has them. Special tokens
   * written in the text are recognised in either case.
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

  /** The text of token ids, with U+FFFD for invalid bytes. */
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
   * Renders a conversation with the chat template, up to the beginning of the answer, for Generator.setText().
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
   * The same with all variables of the template, as a JSON object: "messages", "tools", "documents",
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

  /** Frees it, after calls in progress. */
  @Override
  public void close() {
    super.close();
  }

  @Override
  void free(long pointer) {
    NativeText.closeText(pointer);
  }

  @Override
  void stop(long pointer) {} // no call can be cancelled
}
