// The error of a quantised network, measured against the float network.
#pragma once

#include <map>
#include <vector>

#include "converter/quantize/plan.h"
#include "converter/quantize/sample.h"

namespace ferry::int8 {

struct OutputError {
  double noise = 0;     // power of the difference / power of the float values, mean over the outputs
  double features = 0;  // likewise, of what the last layers of small outputs read; 0 if there are none
  size_t images = 0;
  size_t agreeing = 0;  // images with the same best class; all where outputs are no classes

  // Signal to quantisation noise ratio in dB.
  double sqnr() const;
  double agreement() const { return static_cast<double>(agreeing) / static_cast<double>(images); }
  // What candidates are compared by. A few numbers on a few images can be right by chance, so features count, too.
  double cost() const { return (noise + features) * (2 - agreement()); }
};

// The one-sided lower limit of a proportion (Clopper and Pearson 1934): the true share is at least this with 95 %
// confidence if `count` of `total` samples have the property.
double lower_limit(size_t count, size_t total);
// The number of samples that show a proportion of at least `share` if all of them have the property.
size_t samples_to_show(double share);

class Judge {
 public:
  // Runs the float network on the samples to tune and to judge with. Keeps its outputs.
  Judge(Graph& graph, const Split& split, int threads);

  OutputError tune(const Plan& plan) { return measure(plan, split_.tune); }
  OutputError held_out(const Plan& plan) { return measure(plan, split_.held_out); }
  // Whether output 0 holds a value per class, of which the largest counts.
  bool has_classes() const { return classes_; }

 private:
  OutputError measure(const Plan& plan, const Samples& samples);

  Graph& graph_;
  const Split& split_;
  const int threads_;
  std::vector<TensorId> judged_;  // for each output itself, or the logits of its softmax; then the features
  size_t outputs_ = 0;            // of judged_
  bool classes_ = false;
  std::map<const Sample*, std::vector<std::vector<float>>> expected_;  // by judged tensor
};

}  // namespace ferry::int8
