// What operators cost on a device in each type, so that only those that pay compute on Int8.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converter/quantize/plan.h"

namespace ferry::int8 {

// Microseconds of an operator in its two types; Float is float16 if the file says so.
struct OperatorTime {
  double real = 0;
  std::optional<double> integer;  // nullopt: not measured
};

// A conversion of so many elements.
struct ConversionTime {
  int64_t elements = 0;
  double to_integer = 0, to_real = 0;  // microseconds
};

// "conv2d 1x56x56x24 144x1x1x24 > 1x56x56x144": the kind and the shapes, by which times are kept.
std::string time_key(const Graph& graph, const fbs::OperatorT& op);

// Kinds of work whose rates differ.
enum class Work : uint8_t {
  Pointwise,
  Spatial,
  FewChannels,  // a convolution of an image
  Depthwise,
  Row,  // a linear layer of one row
  Arithmetic,
  Table,
  Mover,
  Other,
};
inline constexpr size_t kWorks = 9;

// Where the times of a device come from.
class Times {
 public:
  // Names of the instruction sets with rates.
  static std::vector<std::string> sets();
  // From rates of an instruction set. Throws Error for an unknown one.
  static Times of_set(const std::string& set);
  // From a file of `ferry bench --types`. Throws Error if it is none.
  static Times read(const std::string& path);
  // The file's text. `set`: of the machine that was measured.
  static std::string text(const std::string& device, const std::string& set, const std::string& precision,
                          size_t threads, const std::map<std::string, OperatorTime>& operators,
                          const std::vector<ConversionTime>& conversions);

  double of(const Graph& graph, const fbs::OperatorT& op, bool integer) const;
  // An operator's time by rates only.
  double estimate(const Graph& graph, const fbs::OperatorT& op, bool integer) const;
  double conversion(int64_t elements, bool to_integer) const;
  bool has(const Graph& graph, const fbs::OperatorT& op) const;
  // "times.json, measured on ..." or "rates of arm64 dotprod, not measured".
  const std::string& source() const { return source_; }
  bool measured() const { return !operators_.empty(); }

 private:
  std::string source_;
  size_t set_ = 0;
  std::map<std::string, OperatorTime> operators_;
  std::vector<ConversionTime> conversions_;  // by elements
};

// Predicts the time of a network with some operators on Int8.
class TimeModel {
 public:
  TimeModel(const Graph& graph, const Times& times);

  // Microseconds. `integer`: by operator.
  double total(const std::vector<bool>& integer) const;
  double all_float() const { return total(std::vector<bool>(real_.size())); }
  // Of one operator alone.
  double of(size_t op, bool integer) const { return integer ? integer_[op] : real_[op]; }
  // How many operators have times of a file.
  size_t known() const { return known_; }

 private:
  struct Value {
    size_t producer;  // an operator; none: real_.size()
    std::vector<size_t> readers;
    bool output = false;
    double to_integer = 0, to_real = 0;
  };

  std::vector<double> real_, integer_;  // by operator
  std::vector<Value> values_;           // Float32 activations
  size_t known_ = 0;
};

// The operators to leave in float so that the predicted time is smallest, by operator: a search over single operators
// and runs of them, beginning from `released`. `may_take_back`: whether an operator in `released` may return to Int8.
std::vector<bool> fastest_release(const Graph& graph, const std::vector<Role>& roles, const TimeModel& times,
                                  std::vector<bool> released, bool may_take_back);

}  // namespace ferry::int8
