//: ein_scan_i32
/* out[i] = carry = max(in[i], carry + step) for every i, eight at a time: each value reaches those
 * after it in three strides, and the carry reaches all. With flip = -1 everything is turned over,
 * which makes it min(in[i], carry - step). Sets the flag where a value is so near the end of its type
 * that a stride may have left it; before that nothing wrong can be the greatest. */
#if defined(__AVX2__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define EIN_SCAN_VECTORS
typedef uint32_t ein_u32x8 __attribute__((vector_size(32)));
typedef int32_t ein_i32x8 __attribute__((vector_size(32)));
#ifdef __clang__
#define EIN_MAX_I32X8(a, b) __builtin_elementwise_max(a, b)
#else
#define EIN_MAX_I32X8(a, b) ((ein_i32x8)__builtin_ia32_pmaxsd256((ein_i32x8)(a), (ein_i32x8)(b)))
#endif
#endif
#endif
static inline int32_t ein_scan_i32(int32_t *out, const int32_t *in, int64_t n, int32_t carry,
                                   int32_t step, int32_t flip, uint32_t *trap)
{
    int64_t i = 0;
    carry ^= flip;
#ifdef EIN_SCAN_VECTORS
    const int32_t low = step < 0 ? INT32_MIN - step * 8 : INT32_MIN;
    const int32_t high = step > 0 ? INT32_MAX - step * 8 : INT32_MAX;
    const int32_t least = step < 0 ? low + 1 : INT32_MIN;
    const ein_i32x8 lows = low - (ein_i32x8){0};
    const ein_u32x8 steps = (ein_u32x8){1, 2, 3, 4, 5, 6, 7, 8} * (uint32_t)step;
    ein_i32x8 carried = carry - (ein_i32x8){0};
    ein_i32x8 outside = (carried < least) | (carried > high);
    for (; i + 8 <= n; i += 8) {
        ein_i32x8 v, w;
        __builtin_memcpy(&v, in + i, sizeof v);
        v ^= flip;
        v = EIN_MAX_I32X8(v, lows);
        w = (ein_i32x8)((ein_u32x8)v + (uint32_t)step);
        w = __builtin_shufflevector(w, lows, 8, 0, 1, 2, 3, 4, 5, 6);
        v = EIN_MAX_I32X8(v, w);
        w = (ein_i32x8)((ein_u32x8)v + (uint32_t)step * 2);
        w = __builtin_shufflevector(w, lows, 8, 9, 0, 1, 2, 3, 4, 5);
        v = EIN_MAX_I32X8(v, w);
        w = (ein_i32x8)((ein_u32x8)v + (uint32_t)step * 4);
        w = __builtin_shufflevector(w, lows, 8, 9, 10, 11, 0, 1, 2, 3);
        v = EIN_MAX_I32X8(v, w);
        w = (ein_i32x8)((ein_u32x8)carried + steps);
        v = EIN_MAX_I32X8(v, w);
        outside |= (v < least) | (v > high);
        carried = __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7);
        v ^= flip;
        __builtin_memcpy(out + i, &v, sizeof v);
    }
    carry = carried[0];
    for (int lane = 0; lane < 8; lane++) *trap |= outside[lane] != 0;
#endif
    for (; i < n; i++) {
        const int32_t v = in[i] ^ flip;
        int32_t w;
        *trap |= __builtin_add_overflow(carry, step, &w);
        carry = v > w ? v : w;
        out[i] = carry ^ flip;
    }
    return carry ^ flip;
}

//: ein_scan_f32
/* out[i] = carry = max(in[i], carry) for every i, or min with flip = -1: as integers in the same order,
 * so many at a time that they stay in the nearest cache. */
static inline float ein_scan_f32(float *out, const float *in, int64_t n, float carry, int32_t flip)
{
    int32_t keys[1024];
    uint32_t trap = 0;
#define EIN_KEY(x) ((int32_t)((flip ? ein_min_key_f32(x) : ein_max_key_f32(x)) ^ 0x80000000))
#define EIN_UNKEY(x) \
    (flip ? ein_min_unkey_f32((uint32_t)(x) ^ 0x80000000) : ein_max_unkey_f32((uint32_t)(x) ^ 0x80000000))
    int32_t key = EIN_KEY(carry);
    for (int64_t i = 0; i < n; i += 1024) {
        const int64_t many = n - i < 1024 ? n - i : 1024;
#pragma omp simd
        for (int64_t k = 0; k < many; k++) keys[k] = EIN_KEY(in[i + k]);
        key = ein_scan_i32(keys, keys, many, key, 0, flip, &trap);
#pragma omp simd
        for (int64_t k = 0; k < many; k++) out[i + k] = EIN_UNKEY(keys[k]);
    }
    return EIN_UNKEY(key);
#undef EIN_KEY
#undef EIN_UNKEY
}

//: ein_scan_f64
/* out[i] = carry = max(in[i], carry) for every i, or min with flip = -1. A choice between integers takes
 * two cycles. */
static inline double ein_scan_f64(double *out, const double *in, int64_t n, double carry, int32_t flip)
{
    if (flip) {
        uint64_t key = ein_min_key_f64(carry);
        for (int64_t i = 0; i < n; i++) {
            const uint64_t next = ein_min_key_f64(in[i]);
            key = next < key ? next : key;
            out[i] = ein_min_unkey_f64(key);
        }
        return ein_min_unkey_f64(key);
    }
    uint64_t key = ein_max_key_f64(carry);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t next = ein_max_key_f64(in[i]);
        key = next > key ? next : key;
        out[i] = ein_max_unkey_f64(key);
    }
    return ein_max_unkey_f64(key);
}
