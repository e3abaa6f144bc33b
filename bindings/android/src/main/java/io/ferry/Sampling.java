// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.util.Map;
import java.util.TreeMap;

/**
 * How a generator chooses the next token. A new one is greedy; setters return it. In this order: biases are added to
 * the network's logits; those of tokens that the text has are divided by the penalty (multiplied where they are below
 * 0); all are divided by the temperature; of their softmax those stay that are among the topK largest, within the
 * fewest that reach topP together, and at least minP times the largest.
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

  /** 0: the most probable token, of equal ones the first. */
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

  /** The same seed gives the same text, with any number of threads. */
  public Sampling seed(long value) {
    seed = value;
    return this;
  }

  /** The text ends where one of these would begin; what is given leaves it out. */
  public Sampling stop(String... values) {
    stop = values.clone();
    return this;
  }

  /** Added to a token's logit; Float.NEGATIVE_INFINITY: never. */
  public Sampling bias(int token, float value) {
    bias.put(token, value);
    return this;
  }

  /** As jni/text.cc reads it. */
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
