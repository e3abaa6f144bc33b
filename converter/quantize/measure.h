// The error of a quantised network, measured against the float network.
#pragma once

#include <map>
#include <vector>

#include "converter/quantize/plan.h"
#include "converter/quantize/sample.h"

namespace ferry::int8 {

// A cost that falls by a smaller share may have fallen by chance.
inline constexpr double kMinGain = 0.005;

// How far the answers for an image agree, 0 to 1; of depth the relative error.
struct Score {
  double value = 0;
  double count = 1;  // of what was judged, such as boxes
};

struct OutputError {
  double noise = 0;     // power of the difference / power of the float values, mean over the outputs
  double features = 0;  // likewise, of what the last layers of small outputs read; 0 if there are none
  size_t images = 0;
  size_t agreeing = 0;        // images with the same best class; all where outputs are no classes
  std::vector<Score> scores;  // by image, where Answers judged it

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

double mean_of(const std::vector<Score>& scores);
// Half the width of a one-sided 95 % confidence interval of the mean (Student 1908); infinite for fewer than 2.
double uncertainty_of(const std::vector<Score>& scores);

// Compares a quantised network's answers (boxes, masks, depth, text) with the float network's.
class Answers {
 public:
  virtual ~Answers() = default;
  // One score per different image that the samples are of. Throws Error if the network has no such answer.
  virtual std::vector<Score> compare(Graph& quantised, const Samples& samples) = 0;
};

class Judge {
 public:
  // Runs the float network on the samples to tune and to judge with. Keeps its outputs. `answers`: may be null.
  Judge(Graph& graph, const Split& split, int threads, Answers* answers = nullptr);

  // `scores`: also those of the answers.
  OutputError tune(const Plan& plan, bool scores = false) { return measure(plan, split_.tune, scores); }
  OutputError held_out(const Plan& plan) { return measure(plan, split_.held_out, true); }
  // Whether output 0 holds a value per class, of which the largest counts.
  bool has_classes() const { return classes_; }

 private:
  OutputError measure(const Plan& plan, const Samples& samples, bool scores);

  Graph& graph_;
  const Split& split_;
  const int threads_;
  Answers* const answers_;
  std::vector<TensorId> judged_;  // for each output itself, or the logits of its softmax; then the features
  size_t outputs_ = 0;            // of judged_
  bool classes_ = false;
  std::map<const Sample*, std::vector<std::vector<float>>> expected_;  // by judged tensor
};

}  // namespace ferry::int8
