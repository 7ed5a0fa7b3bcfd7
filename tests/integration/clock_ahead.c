/* A wall clock that is ahead by CLOCK_AHEAD_MS, for LD_PRELOAD. The monotonic clock, and so every wait, stays as it is.
 *
 * Debian's libfaketime does the same to more functions, among them clock_nanosleep, which Python's sleep then fails in. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const long SECOND = 1000000000L;

static long ahead_ns(void) {
    const char *ahead_ms = getenv("CLOCK_AHEAD_MS");
    return ahead_ms ? atol(ahead_ms) * 1000000L : 0;
}

/* By less than a second either way. */
static void shift(struct timespec *instant, long by_ns) {
    instant->tv_nsec += by_ns;
    if (instant->tv_nsec >= SECOND) {
        instant->tv_nsec -= SECOND;
        instant->tv_sec++;
    } else if (instant->tv_nsec < 0) {
        instant->tv_nsec += SECOND;
        instant->tv_sec--;
    }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) shift(now, ahead_ns());
    return status;
}

int timespec_get(struct timespec *now, int base) { return clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0; }

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now) *now = precise.tv_sec;
    return precise.tv_sec;
}

/* Waits until an instant of the wall clock, which the kernel knows by its own; one of the monotonic clock is small. */
static struct timespec known_by_kernel(const struct timespec *until) {
    struct timespec instant = *until;
    if (until->tv_sec > SECOND) shift(&instant, -ahead_ns());
    return instant;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    static int (*original)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec instant = known_by_kernel(until);
    /* On x86-64 the plain name may be that of another, older kind of condition. */
    if (!original) *(void **)&original = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!original) *(void **)&original = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    return original(condition, mutex, &instant);
}

/* The C library's own calls of the function above do not come here. */
int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict until) {
    static int (*original)(cnd_t *, mtx_t *, const struct timespec *);
    struct timespec instant = known_by_kernel(until);
    if (!original) *(void **)&original = dlsym(RTLD_NEXT, "cnd_timedwait");
    return original(condition, mutex, &instant);
}
