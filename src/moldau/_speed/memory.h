/* What to do with memory that was freed. By default glibc gives large pieces back to the operating system at once and
 * gets them again, page by page, for the next request: for batches of a megabyte that costs more than decompressing
 * them. Other C libraries have no such setting. */

#ifndef MOLDAU_MEMORY_H
#define MOLDAU_MEMORY_H

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
static int keep_freed(int largest, int spare) {
    return mallopt(M_MMAP_THRESHOLD, largest) && mallopt(M_TRIM_THRESHOLD, spare);
}
#else
static int keep_freed(int largest, int spare) {
    (void) largest;
    (void) spare;
    return 0;
}
#endif

#endif
