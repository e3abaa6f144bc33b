// Arithmetic on constants: integers as integers, other types in double, rounded to the type once.
#pragma once

#include <type_traits>

#include "converter/onnx/op.h"

namespace ferry::onnx {

template <typename To, typename From, typename Function>
std::vector<To> combine_values(const std::vector<From>& a, const std::vector<From>& b, Function function) {
  std::vector<To> out(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if constexpr (std::is_integral_v<To>)
      out[i] = to_integer(function(a[i], b[i]));
    else
      out[i] = static_cast<To>(function(a[i], b[i]));
  }
  return out;
}

// function(int64, int64) of two broadcast arrays.
template <typename Function>
Array combine_integers(const Array& a, const Array& b, Function function) {
  const Dims dims = broadcast(a.dims, b.dims);
  return make_array(a.type, dims, combine_values<int64_t>(expand(a, dims).ints(), expand(b, dims).ints(), function));
}

// The same for any type: `function` accepts two int64 or two double. `to`: the result's type, if not that of a.
template <typename Function>
Array combine(const Array& a, const Array& b, Function function, Type to = Type::Undefined) {
  const Dims dims = broadcast(a.dims, b.dims);
  const Type type = to == Type::Undefined ? a.type : to;
  if (is_float(a.type) || is_float(b.type))
    return make_array(type, dims, combine_values<double>(expand(a, dims).floats(), expand(b, dims).floats(), function));
  return make_array(type, dims, combine_values<int64_t>(expand(a, dims).ints(), expand(b, dims).ints(), function));
}

template <typename Function>
Array map(const Array& x, Function function) {
  std::vector<double> values = x.floats();
  for (double& v : values) v = function(v);
  return make_array(x.type, x.dims, values);
}

// a where the bit is set, else b; all have one size.
inline Array select(const std::vector<int64_t>& bits, const Array& a, const Array& b) {
  if (is_float(a.type)) {
    std::vector<double> out = b.floats();
    const std::vector<double> chosen = a.floats();
    for (size_t i = 0; i < out.size(); ++i)
      if (bits[i]) out[i] = chosen[i];
    return make_array(a.type, a.dims, out);
  }
  std::vector<int64_t> out = b.ints();
  const std::vector<int64_t> chosen = a.ints();
  for (size_t i = 0; i < out.size(); ++i)
    if (bits[i]) out[i] = chosen[i];
  return make_array(a.type, a.dims, out);
}

}  // namespace ferry::onnx
