// Sigmoid and products with it. Drivers need not compute with infinities, so operands are clamped where the formula of
// a finite one would overflow: to where the result is constant in float32.

vec4 sigmoid(vec4 x) { return 1 / (1 + exp(-max(x, vec4(-87)))); }

// x * sigmoid(factor * x), `factor` above 0. Below -87, sigmoid() is not 0, and x could magnify it.
vec4 silu(vec4 x, float factor) { return max(x, vec4(-87 / factor)) * sigmoid(factor * x); }

// x * (1 + tanh(y)) / 2
vec4 gelu_tanh(vec4 x) {
  const vec4 within = clamp(x, -10, 10);
  return max(x, vec4(-10)) * sigmoid(1.5957691216057308 * (within + 0.044715 * within * within * within));
}
