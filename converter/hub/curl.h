// libcurl, loaded when a download begins: it and the thirty libraries that it needs take longer to link than everything
// else that most commands do, and a machine that downloads nothing does not need them.
#pragma once

#define CURL_DISABLE_TYPECHECK  // whose macros name the functions
#include <curl/curl.h>

namespace ferry {

struct Curl {
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_perform) easy_perform;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_free) free;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_url) url;
  decltype(&curl_url_cleanup) url_cleanup;
  decltype(&curl_url_get) url_get;
  decltype(&curl_url_set) url_set;
};

// Loads libcurl at the first call and keeps it. Throws Error if it is not installed or too old.
const Curl& curl();

}  // namespace ferry
