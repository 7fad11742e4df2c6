// Stands in for the allocator of the C library and counts what goes through it. glibc lets a program bring its own, all
// of whose functions have to be there, and keeps its own under other names.
// Source: The GNU C Library manual, "Replacing malloc".

#include "Allocations.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static _Atomic long inUse;
static _Atomic long peak;

long allocationsNow(void) { return atomic_load_explicit(&inUse, memory_order_relaxed); }
long allocationsPeak(void) { return atomic_load_explicit(&peak, memory_order_relaxed); }

long allocationsBegin(void) {
    long now = allocationsNow();
    atomic_store_explicit(&peak, now, memory_order_relaxed);
    return now;
}

static void *taken(void *block) {
    long size = block ? (long)malloc_usable_size(block) : 0;
    long now = atomic_fetch_add_explicit(&inUse, size, memory_order_relaxed) + size;
    long most = atomic_load_explicit(&peak, memory_order_relaxed);
    while (now > most &&
           !atomic_compare_exchange_weak_explicit(&peak, &most, now, memory_order_relaxed, memory_order_relaxed)) {
    }
    return block;
}

static void given(void *block) {
    if (block) atomic_fetch_sub_explicit(&inUse, (long)malloc_usable_size(block), memory_order_relaxed);
}

void *malloc(size_t size) { return taken(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }
void *memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
void *valloc(size_t size) { return memalign((size_t)sysconf(_SC_PAGESIZE), size); }

void *pvalloc(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return memalign(page, (size + page - 1) / page * page);
}

void free(void *block) {
    given(block);
    __libc_free(block);
}

void *realloc(void *block, size_t size) {
    given(block);
    void *moved = __libc_realloc(block, size);
    // The old block stays when there is no room for a larger one.
    taken(moved || size == 0 ? moved : block);
    return moved;
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    if (alignment < sizeof(void *) || (alignment & (alignment - 1))) return EINVAL;
    void *found = memalign(alignment, size);
    if (!found) return ENOMEM;
    *block = found;
    return 0;
}
