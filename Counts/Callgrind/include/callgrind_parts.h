#pragma once

/// Counts instructions from here on. Does nothing unless valgrind's callgrind runs the program.
void callgrind_begin_part(void);
/// Ends the count and writes it down under a name.
void callgrind_end_part(const char *name);
