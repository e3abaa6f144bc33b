// Compensated summation (Kahan 1965): the error of a sum does not grow with the number of terms.
#define KAHAN_ADD(sum, carry, term)          \
  {                                          \
    precise vec4 corrected = (term) - carry; \
    precise vec4 next = sum + corrected;     \
    carry = (next - sum) - corrected;        \
    sum = next;                              \
  }
