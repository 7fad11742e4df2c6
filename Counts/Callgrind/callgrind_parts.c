#include "callgrind_parts.h"

#include <valgrind/callgrind.h>

void callgrind_begin_part(void) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}

void callgrind_end_part(const char *name) {
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
}
