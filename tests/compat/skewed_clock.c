/* The wall clock, so many seconds ahead: loaded before libc by a node whose machine is to have a wrong clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    static long ahead;
    if (!real) {
        const char *seconds = getenv("SKEWED_BY");
        ahead = seconds ? atol(seconds) : 0;
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    }
    int result = real(clock, time);
    if (result == 0 && clock == CLOCK_REALTIME)
        time->tv_sec += ahead;
    return result;
}
