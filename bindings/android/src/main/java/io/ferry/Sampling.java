// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * How a generator samples the next token. The defaults are greedy; setters return this. The steps, in order: biases are
 * added to the logits; logits of tokens that occur in the text are divided by the penalty (multiplied if negative); all
 * are divided by the temperature; after softmax, candidates are the topK largest, within the smallest set that reaches
 * topP, with at least minP times the maximum.
 */
public final class Sampling {
  private float temperature;
  private float topP = 1;
  private float minP;
  private float repetitionPenalty = 1;
  private int topK;
  private long seed;
  private String[] stop = {};
  private final Map<Integer, Float> bias = new TreeMap<Integer, Float>();

  /** 0: the most probable token; the lowest id of equal ones. */
  public Sampling temperature(float value) {
    temperature = value;
    return this;
  }

  /** 0: all. */
  public Sampling topK(int value) {
    topK = value;
    return this;
  }

  /** Above 0; 1: all. */
  public Sampling topP(float value) {
    topP = value;
    return this;
  }

  /** 0 to 1; 0: all. */
  public Sampling minP(float value) {
    minP = value;
    return this;
  }

  /** Above 0; 1: none. */
  public Sampling repetitionPenalty(float value) {
    repetitionPenalty = value;
    return this;
  }

  /** The same seed gives the same text, for any number of threads. */
  public Sampling seed(long value) {
    seed = value;
    return this;
  }

  /** Generation ends before one of these; the text omits it. */
  public Sampling stop(String... values) {
    stop = values.clone();
    return this;
  }

  /** Added to a token's logit; Float.NEGATIVE_INFINITY: never. */
  public Sampling bias(int token, float value) {
    bias.put(token, value);
    return this;
  }

  /** Null: the model's authors recommend nothing. */
  static @Nullable Sampling recommended(long generator) {
    float[] numbers = new float[4];
    int[] topK = new int[1];
    int status = NativeText.recommendedSampling(generator, numbers, topK);
    if (status == FerryException.Status.NOT_FOUND.code) {
      return null;
    }
    Native.check(status);
    Sampling sampling = new Sampling().temperature(numbers[0]).topP(numbers[1]).minP(numbers[2]);
    return sampling.repetitionPenalty(numbers[3]).topK(topK[0]);
  }

  /** In the layout that jni/text.cc reads. */
  int set(long generator) {
    int[] tokens = new int[bias.size()];
    float[] values = new float[bias.size()];
    int next = 0;
    for (Map.Entry<Integer, Float> entry : bias.entrySet()) {
      tokens[next] = entry.getKey();
      values[next++] = entry.getValue();
    }
    float[] numbers = {temperature, topP, minP, repetitionPenalty};
    return NativeText.setSampling(generator, numbers, topK, seed, tokens, values, Native.texts(stop));
  }
}
