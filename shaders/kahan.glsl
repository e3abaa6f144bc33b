// Compensated summation (Kahan 1965): the error of a sum does not grow with the number of terms. Without a carry once
// the sum is infinite, which would become NaN.
#define KAHAN_ADD(sum, carry, term)                                                                        \
  {                                                                                                        \
    precise vec4 corrected = (term) - carry;                                                               \
    precise vec4 next = sum + corrected;                                                                   \
    carry = mix((next - sum) - corrected, vec4(0), greaterThan(abs(next), vec4(3.402823466e38)));          \
    sum = next;                                                                                            \
  }
