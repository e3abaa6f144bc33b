#include <cstdio>

#include "sdk/text/template/functions.h"

namespace ferry::jinja {
namespace {

constexpr std::string_view kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                        "July",    "August",   "September", "October", "November", "December"};

}  // namespace

void write_time(Evaluator& run, std::string_view format, const std::tm& time) {
  const auto day = static_cast<size_t>(time.tm_wday) % 7, month = static_cast<size_t>(time.tm_mon) % 12;
  const int hour = time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
  for (size_t at = 0; at < format.size() && run.step(); ++at) {
    if (format[at] != '%' || at + 1 == format.size()) {
      run.append(format[at]);
      continue;
    }
    const bool plain = format[++at] == '-' && at + 1 < format.size();  // %-d: no leading zeros
    const char letter = plain ? format[++at] : format[at];
    const auto number = [&](int value, int width, char fill = '0') {
      char digits[16];
      run.step(4);
      std::snprintf(digits, sizeof digits, fill == '0' ? "%0*d" : "%*d", plain ? 1 : width, value);
      run.append(digits);
    };
    switch (letter) {
      case 'Y': number(time.tm_year + 1900, 1); break;
      case 'y': number(time.tm_year % 100, 2); break;
      case 'm': number(time.tm_mon + 1, 2); break;
      case 'd': number(time.tm_mday, 2); break;
      case 'e': number(time.tm_mday, 2, ' '); break;
      case 'H': number(time.tm_hour, 2); break;
      case 'I': number(hour, 2); break;
      case 'M': number(time.tm_min, 2); break;
      case 'S': number(time.tm_sec, 2); break;
      case 'j': number(time.tm_yday + 1, 3); break;
      case 'w': number(time.tm_wday, 1); break;
      case 'u': number(time.tm_wday == 0 ? 7 : time.tm_wday, 1); break;
      case 'p': run.append(time.tm_hour < 12 ? "AM" : "PM"); break;
      case 'A': run.append(kDays[day]); break;
      case 'a': run.append(kDays[day].substr(0, 3)); break;
      case 'B': run.append(kMonths[month]); break;
      case 'b':
      case 'h': run.append(kMonths[month].substr(0, 3)); break;
      case 'D': write_time(run, "%m/%d/%y", time); break;
      case 'F': write_time(run, "%Y-%m-%d", time); break;
      case 'R': write_time(run, "%H:%M", time); break;
      case 'T':
      case 'X': write_time(run, "%H:%M:%S", time); break;
      case 'x': write_time(run, "%m/%d/%y", time); break;
      case 'c': write_time(run, "%a %b %e %H:%M:%S %Y", time); break;
      case 'n': run.append('\n'); break;
      case 't': run.append('\t'); break;
      case '%': run.append('%'); break;
      default: run.fail("strftime_now() does not know %%%c", letter); return;
    }
  }
}

}  // namespace ferry::jinja
