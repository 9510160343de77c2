/* Runs a loop with subnormal numbers taken for zeros. The body is called through a pointer that the
   compiler cannot look behind, so that nothing else moves in between. */
static uint32_t ein_flushed(const void *context, ein_body body, const void *captured, int64_t lo,
                            int64_t hi, int64_t grain) {
    (void)context, (void)grain;
    ein_body volatile hidden = body;
#if defined(__x86_64__)
    uint32_t before, mode;
    __asm__ volatile("stmxcsr %0" : "=m"(before));
    mode = before | 0x8040;
    __asm__ volatile("ldmxcsr %0" : : "m"(mode) : "memory");
    const uint32_t trap = hidden(captured, lo, hi);
    __asm__ volatile("ldmxcsr %0" : : "m"(before) : "memory");
#elif defined(__aarch64__)
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | 1 << 24) : "memory");
    const uint32_t trap = hidden(captured, lo, hi);
    __asm__ volatile("msr fpcr, %0" : : "r"(before) : "memory");
#else
    const uint32_t trap = hidden(captured, lo, hi);
#endif
    return trap;
}
