#include "converter/hub/curl.h"

#include <dlfcn.h>

#include "converter/error.h"

namespace ferry {
namespace {

template <typename Function>
void load(void* library, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (!*function) fail("downloads need libcurl 7.85 or newer: the one installed lacks %s()", name);
}

Curl load_curl() {
  void* library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) fail("downloads need libcurl (Debian: libcurl4): %s", dlerror());
  decltype(&curl_global_init) global_init;
  load(library, "curl_global_init", &global_init);
  global_init(CURL_GLOBAL_DEFAULT);
  Curl curl;
  load(library, "curl_easy_cleanup", &curl.easy_cleanup);
  load(library, "curl_easy_getinfo", &curl.easy_getinfo);
  load(library, "curl_easy_init", &curl.easy_init);
  load(library, "curl_easy_perform", &curl.easy_perform);
  load(library, "curl_easy_reset", &curl.easy_reset);
  load(library, "curl_easy_setopt", &curl.easy_setopt);
  load(library, "curl_easy_strerror", &curl.easy_strerror);
  load(library, "curl_free", &curl.free);
  load(library, "curl_slist_append", &curl.slist_append);
  load(library, "curl_slist_free_all", &curl.slist_free_all);
  load(library, "curl_url", &curl.url);
  load(library, "curl_url_cleanup", &curl.url_cleanup);
  load(library, "curl_url_get", &curl.url_get);
  load(library, "curl_url_set", &curl.url_set);
  return curl;
}

}  // namespace

const Curl& curl() {
  static const Curl curl = load_curl();
  return curl;
}

}  // namespace ferry
