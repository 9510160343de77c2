/* Parallel loops: on the calling thread, or, where EIN_THREADS is a number above 1, on so many. */
#if defined(EIN_THREADS) && EIN_THREADS > 1
#include <pthread.h>

typedef struct {
    ein_body body;
    const void *captured;
    int64_t lo, hi;
    uint32_t trap;
} ein_part;

static void *ein_run_part(void *argument) {
    ein_part *const part = argument;
    part->trap = part->body(part->captured, part->lo, part->hi);
    return 0;
}

static uint32_t ein_parallel(const void *context, ein_body body, const void *captured, int64_t lo,
                             int64_t hi, int64_t grain) {
    (void)context;
    int64_t parts = (hi - lo) / (grain > 0 ? grain : 1);
    if (parts > EIN_THREADS) parts = EIN_THREADS;
    pthread_attr_t attributes;
    if (parts < 2 || pthread_attr_init(&attributes) != 0) return body(captured, lo, hi);
    (void)pthread_attr_setstacksize(&attributes, (size_t)16 << 20);
    ein_part part[EIN_THREADS];
    pthread_t thread[EIN_THREADS];
    bool started[EIN_THREADS];
    for (int64_t i = 0; i < parts; i++) {
        const int64_t from = lo + (hi - lo) / parts * i;
        const int64_t to = i + 1 == parts ? hi : lo + (hi - lo) / parts * (i + 1);
        part[i] = (ein_part){body, captured, from, to, 0};
        started[i] = i > 0 && pthread_create(&thread[i], &attributes, ein_run_part, &part[i]) == 0;
    }
    uint32_t trap = 0;
    for (int64_t i = 0; i < parts; i++) {
        if (!started[i]) (void)ein_run_part(&part[i]);
    }
    for (int64_t i = 0; i < parts; i++) {
        if (started[i]) (void)pthread_join(thread[i], 0);
        trap |= part[i].trap;
    }
    (void)pthread_attr_destroy(&attributes);
    return trap;
}
#else
static uint32_t ein_parallel(const void *context, ein_body body, const void *captured, int64_t lo,
                             int64_t hi, int64_t grain) {
    (void)context, (void)grain;
    return body(captured, lo, hi);
}
#endif
