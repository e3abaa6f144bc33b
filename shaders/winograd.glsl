// Winograd's minimal filtering F(m x m, 3x3) as on the CPU (sdk/cpu/gemm/winograd.h): an output tile of m x m pixels
// reads n x n, n = m + 2. m = 4: Toom-Cook with the points 0, 5/8, -5/8, 3/2, -3/2 and infinity.
#extension GL_EXT_control_flow_attributes : require

const float kA = 0.625, kB = 1.5, kA2 = kA * kA, kB2 = kB * kB;
