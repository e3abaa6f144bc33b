// SPDX-License-Identifier: Apache-2.0
// The words of the command line.
#pragma once

#include <string>

#include "recogniser.h"
#include "sources.h"

namespace camera {

struct Options {
  enum class From { Device, RawFile, Folder };

  std::string model;
  From from = From::Device;
  std::string path = "/dev/video0";
  Wanted wanted;
  ferry::SessionOptions session;
  Prompts prompts;
  int frames = 0;  // to answer; 0: all that come
  bool page = true;
  std::string address = "127.0.0.1";
  int port = 8080;    // 0: any that is free
  bool help = false;  // was asked for
};

// FERRY_INVALID_ARGUMENT and a sentence where they make no sense.
ferry::Result<Options> read_options(int argc, char** argv);
const char* help_text();

}  // namespace camera
