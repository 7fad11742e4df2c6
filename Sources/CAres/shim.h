#include <ares.h>
#include <sys/eventfd.h>
