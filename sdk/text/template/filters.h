// The filters, after `|`.
#pragma once

#include "sdk/text/template/evaluator.h"

namespace ferry::jinja {

// Index of a filter in the table; kUnknown: there is none of that name.
uint8_t find_filter(std::string_view name);
const Native& filter_at(uint8_t index);
// "no filter is called 'x'; there are: a, b, c"
Value fail_unknown_filter(Work& work, uint32_t line, std::string_view name);

// sequence_filters.cc
Value filter_first(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_last(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_join(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_list(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_items(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_dictsort(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_sort(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_reverse(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_unique(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_sum(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_min(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_max(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_map(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_select(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_reject(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_selectattr(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_rejectattr(Evaluator& run, const Value& value, const Arguments& arguments);
Value filter_batch(Evaluator& run, const Value& value, const Arguments& arguments);
// json_filter.cc
Value filter_tojson(Evaluator& run, const Value& value, const Arguments& arguments);

}  // namespace ferry::jinja
