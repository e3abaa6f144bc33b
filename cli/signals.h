// What a signal that ends the program leaves behind: nothing.
#pragma once

namespace ferry::cli {

// Installs handlers for the signals that would end the program: they remove its unfinished files, then end it as the
// signal does. Signals that the parent process ignores (nohup) stay ignored. Writing beyond the limit of a file's size
// (SIGXFSZ) becomes an error.
void remove_temporaries_on_signals();

}  // namespace ferry::cli
