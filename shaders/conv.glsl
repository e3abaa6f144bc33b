// Common to the convolution kernels: push constants (sdk/gpu/lowering/convolution.h) and tap positions.

#define CONV_PUSH                                                                     \
  EPILOGUE_PUSH                                                                       \
  uint columns;                                                                       \
  uint tiles, tiles_x;             /* tiles of output pixels: all, along the width */ \
  uint output_height, output_width;                                                   \
  int input_height, input_width;                                                      \
  uint input_quads;                /* of a pixel */                                   \
  uint group_inputs, group_outputs; /* quads of a group; in grouped kernels channels */ \
  uint kernel_h, kernel_w;                                                            \
  int stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;                  \
  uint bias;

// Input rows or columns, of a convolution and of a transposed one. Below 0, or `extent` or more: padding.
int source(int at, int tap, int stride, int dilation, int pad) { return at * stride - pad + tap * dilation; }

int transposed_source(int at, int tap, int stride, int dilation, int pad) {
  const int scaled = at + pad - tap * dilation;
  return scaled >= 0 && scaled % stride == 0 ? scaled / stride : -1;
}

bool inside(int at, int extent) { return at >= 0 && at < extent; }
