#include "converter/landmarks/known.h"

namespace ferry::landmarks {
namespace {

using Lines = std::vector<std::vector<int>>;

// Eyes, eyebrows, lips and the oval of MediaPipe's face mesh.
const Lines kFace = {
    {61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185, 61},
    {78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308, 415, 310, 311, 312, 13, 82, 81, 80, 191, 78},
    {263, 249, 390, 373, 374, 380, 381, 382, 362, 398, 384, 385, 386, 387, 388, 466, 263},
    {33, 7, 163, 144, 145, 153, 154, 155, 133, 173, 157, 158, 159, 160, 161, 246, 33},
    {276, 283, 282, 295, 285},
    {300, 293, 334, 296, 336},
    {46, 53, 52, 65, 55},
    {70, 63, 105, 66, 107},
    {10,  338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377, 152,
     148, 176, 149, 150, 136, 172, 58,  132, 93,  234, 127, 162, 21,  54,  103, 67,  109, 10},
};

Lines face_with_irises() {
  Lines lines = kFace;
  lines.push_back({469, 470, 471, 472, 469});
  lines.push_back({474, 475, 476, 477, 474});
  return lines;
}

// Lips, left and right eye, left and right iris of MediaPipe's face mesh with attention
// (tensors_to_face_landmarks_with_attention.pbtxt).
const std::vector<std::vector<int>> kAttention = {
    {61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 185, 40, 39, 37, 0,  267, 269, 270, 409,
     78, 95,  88, 178, 87, 14, 317, 402, 318, 324, 308, 191, 80, 81, 82, 13, 312, 311, 310, 415,
     76, 77,  90, 180, 85, 16, 315, 404, 320, 307, 306, 184, 74, 73, 72, 11, 302, 303, 304, 408,
     62, 96,  89, 179, 86, 15, 316, 403, 319, 325, 292, 183, 42, 41, 38, 12, 268, 271, 272, 407},
    {33,  7,   163, 144, 145, 153, 154, 155, 133, 246, 161, 160, 159, 158, 157, 173, 130, 25,
     110, 24,  23,  22,  26,  112, 243, 247, 30,  29,  27,  28,  56,  190, 226, 31,  228, 229,
     230, 231, 232, 233, 244, 113, 225, 224, 223, 222, 221, 189, 35,  124, 46,  53,  52,  65,
     143, 111, 117, 118, 119, 120, 121, 128, 245, 156, 70,  63,  105, 66,  107, 55,  193},
    {263, 249, 390, 373, 374, 380, 381, 382, 362, 466, 388, 387, 386, 385, 384, 398, 359, 255,
     339, 254, 253, 252, 256, 341, 463, 467, 260, 259, 257, 258, 286, 414, 446, 261, 448, 449,
     450, 451, 452, 453, 464, 342, 445, 444, 443, 442, 441, 413, 265, 353, 276, 283, 282, 295,
     372, 340, 346, 347, 348, 349, 350, 357, 465, 383, 300, 293, 334, 296, 336, 285, 417},
    {468, 469, 470, 471, 472},
    {473, 474, 475, 476, 477},
};

const std::vector<std::string> kHandNames = {
    "wrist",     "thumb cmc", "thumb mcp",  "thumb ip",   "thumb tip",  "index mcp",  "index pip",
    "index dip", "index tip", "middle mcp", "middle pip", "middle dip", "middle tip", "ring mcp",
    "ring pip",  "ring dip",  "ring tip",   "little mcp", "little pip", "little dip", "little tip",
};

const std::vector<std::string> kBodyNames = {
    "nose",        "left eye inner",  "left eye",         "left eye outer", "right eye inner",
    "right eye",   "right eye outer", "left ear",         "right ear",      "mouth left",
    "mouth right", "left shoulder",   "right shoulder",   "left elbow",     "right elbow",
    "left wrist",  "right wrist",     "left little",      "right little",   "left index",
    "right index", "left thumb",      "right thumb",      "left hip",       "right hip",
    "left knee",   "right knee",      "left ankle",       "right ankle",    "left heel",
    "right heel",  "left foot index", "right foot index",
};

Network face(int rows, int points, const Lines& lines, const std::vector<std::vector<int>>& refinements = {}) {
  return {.detector = "blazeface",
          .rows = rows,
          .columns = 3,
          .points = points,
          .refinements = refinements,
          .labels = {"face"},
          .lines = lines,
          .angle = 0,
          .scale = 1.5f,
          .start = 0,
          .end = 1};
}

}  // namespace

std::span<const Network> known_networks() {
  static const std::vector<Network> kNetworks = {
      {.detector = "blazepalm",
       .rows = 21,
       .columns = 3,
       .points = 21,
       .handed = true,
       .labels = {"right hand", "left hand"},
       .names = kHandNames,
       .lines =
           {{0, 1, 2, 3, 4}, {0, 5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}, {5, 9, 13, 17}, {0, 17, 18, 19, 20}},
       .angle = 90,
       .scale = 2.6f,
       .shift_y = -0.5f,
       .start = 0,
       .end = 2},
      face(468, 478, face_with_irises(), kAttention),
      face(468, 468, kFace),
      face(478, 478, face_with_irises()),
      {.detector = "blazepose",
       .rows = 39,
       .columns = 5,
       .points = 33,
       .visibility = 3,
       .heatmaps = true,
       .labels = {"person"},
       .names = kBodyNames,
       .lines = {{7, 3, 2, 1, 0, 4, 5, 6, 8},
                 {9, 10},
                 {11, 13, 15, 17, 19, 15, 21},
                 {12, 14, 16, 18, 20, 16, 22},
                 {11, 12, 24, 23, 11},
                 {23, 25, 27, 29, 31, 27},
                 {24, 26, 28, 30, 32, 28}},
       .angle = 90,
       .scale = 1.25f,
       .start = 0,
       .end = 1,
       .around_start = true},
  };
  return kNetworks;
}

}  // namespace ferry::landmarks
