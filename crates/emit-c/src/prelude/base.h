//: ein_interface
typedef uint32_t (*ein_body)(const void *captured, int64_t lo, int64_t hi);
typedef struct {
    int64_t m, n, k;
    const void *a;
    int64_t a_rows, a_cols;
    const void *b;
    int64_t b_rows, b_cols;
    void *c;
    int64_t c_rows, c_cols;
    uint32_t accumulate, parallel;
} ein_gemm;
typedef struct {
    uint32_t (*parallel)(const void *context, ein_body body, const void *captured, int64_t lo,
                         int64_t hi, int64_t grain);
    void (*gemm_f32)(const void *context, const ein_gemm *args);
    void (*gemm_f64)(const void *context, const ein_gemm *args);
    const void *context;
    uint32_t (*flushed)(const void *context, ein_body body, const void *captured, int64_t lo,
                        int64_t hi, int64_t grain);
    uint32_t (*leaves)(const void *context);
} ein_interface;

//: ein_bits_f32
EIN_INLINE uint32_t ein_bits_f32(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

//: ein_from_bits_f32
EIN_INLINE float ein_from_bits_f32(uint32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

//: ein_bits_f64
EIN_INLINE uint64_t ein_bits_f64(double x) {
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

//: ein_from_bits_f64
EIN_INLINE double ein_from_bits_f64(uint64_t bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

//: ein_fma_f32
#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA)
#define ein_fma_f32(a, b, c) __builtin_fmaf(a, b, c)
#else
#define ein_fma_f32(a, b, c) ((a) * (b) + (c))
#endif

//: ein_fma_f64
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
#define ein_fma_f64(a, b, c) __builtin_fma(a, b, c)
#else
#define ein_fma_f64(a, b, c) ((a) * (b) + (c))
#endif

//: ein_load_f16
/* Numbers of 16 bits are floats in registers. */
EIN_INLINE float ein_load_f16(uint16_t h) {
    const uint32_t wide = (uint32_t)(h & 0x7fff) << 13;
    const float normal = ein_from_bits_f32(wide + 0x38000000);
    const float small = ein_from_bits_f32(wide + 0x38800000) - 6.103515625e-05f;
    const float huge = ein_from_bits_f32(wide + 0x70000000);
    const float size = wide < 0x00800000 ? small : wide >= 0x0f800000 ? huge : normal;
    return ein_from_bits_f32(ein_bits_f32(size) | (uint32_t)(h & 0x8000) << 16);
}

//: ein_store_f16
/* To nearest, ties to even; the addition of 1/2 rounds a subnormal as the hardware does. */
EIN_INLINE uint16_t ein_store_f16(float x) {
    const uint32_t bits = ein_bits_f32(x), size = bits & 0x7fffffff;
    const uint32_t small = ein_bits_f32(ein_from_bits_f32(size) + 0.5f) - 0x3f000000;
    const uint32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    const uint32_t huge = size > 0x7f800000 ? 0x7e00 : 0x7c00;
    const uint32_t half = size < 0x38800000 ? small : size >= 0x47800000 ? huge : normal;
    return (uint16_t)(half | (bits >> 16 & 0x8000));
}

//: ein_round_f16
EIN_INLINE float ein_round_f16(float x) {
    return ein_load_f16(ein_store_f16(x));
}

//: ein_load_bf16
EIN_INLINE float ein_load_bf16(uint16_t h) {
    return ein_from_bits_f32((uint32_t)h << 16);
}

//: ein_store_bf16
EIN_INLINE uint16_t ein_store_bf16(float x) {
    const uint32_t bits = ein_bits_f32(x);
    const uint32_t near = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(x != x ? 0x7fc0 : near);
}

//: ein_round_bf16
EIN_INLINE float ein_round_bf16(float x) {
    return ein_load_bf16(ein_store_bf16(x));
}

//: ein_odd_f32
/* To a float, rounded to odd, so that rounding once more is as rounding once. */
EIN_INLINE float ein_odd_f32(double x) {
    const float near = (float)x;
    const double back = near;
    const uint32_t down = __builtin_fabs(back) > __builtin_fabs(x);
    const float odd = ein_from_bits_f32((ein_bits_f32(near) - down) | 1);
    return back == x || x != x ? near : odd;
}

//: ein_odd_i128
/* To a double, rounded to odd. */
EIN_INLINE double ein_odd_i128(__int128 x) {
    const double near = (double)x;
    const __int128 back = (__int128)near;
    const uint64_t down = (back < 0 ? -back : back) > (x < 0 ? -x : x);
    return back == x ? near : ein_from_bits_f64((ein_bits_f64(near) - down) | 1);
}

//: ein_max_f32
/* NaN if either is; +0 is the greater zero. Both choices agree but for zeros and NaN: there the
   sign is that of both, the rest that of either. */
EIN_INLINE float ein_max_f32(float a, float b) {
    const uint32_t x = ein_bits_f32(a > b ? a : b), y = ein_bits_f32(b > a ? b : a);
    return ein_from_bits_f32((x & y) | ((x | y) & 0x7fffffff));
}

//: ein_min_f32
/* NaN if either is; -0 is the smaller zero. */
EIN_INLINE float ein_min_f32(float a, float b) {
    const uint32_t x = ein_bits_f32(a < b ? a : b), y = ein_bits_f32(b < a ? b : a);
    return ein_from_bits_f32(x | y);
}

//: ein_max_f64
/* NaN if either is; +0 is the greater zero. Both choices agree but for zeros and NaN: there the
   sign is that of both, the rest that of either. */
EIN_INLINE double ein_max_f64(double a, double b) {
    const uint64_t x = ein_bits_f64(a > b ? a : b), y = ein_bits_f64(b > a ? b : a);
    return ein_from_bits_f64((x & y) | ((x | y) & 0x7fffffffffffffff));
}

//: ein_min_f64
/* NaN if either is; -0 is the smaller zero. */
EIN_INLINE double ein_min_f64(double a, double b) {
    const uint64_t x = ein_bits_f64(a < b ? a : b), y = ein_bits_f64(b < a ? b : a);
    return ein_from_bits_f64(x | y);
}

//: ein_max_chained_f32
/* The same where the next turn of a loop waits for it: not by way of integer registers, which takes
   longer than the rest. */
EIN_INLINE float ein_max_chained_f32(float a, float b) {
#ifdef __AVX__
    float x = a > b ? a : b, y = b > a ? b : a, sign;
    __asm__("vandps %2, %1, %0" : "=x"(sign) : "x"(x), "x"(y));
    __asm__("vorps %1, %0, %0" : "+x"(x) : "x"(y));
    x = __builtin_fabsf(x);
    __asm__("vorps %1, %0, %0" : "+x"(x) : "x"(sign));
    return x;
#else
    return ein_max_f32(a, b);
#endif
}

//: ein_max_chained_f64
EIN_INLINE double ein_max_chained_f64(double a, double b) {
#ifdef __AVX__
    double x = a > b ? a : b, y = b > a ? b : a, sign;
    __asm__("vandpd %2, %1, %0" : "=x"(sign) : "x"(x), "x"(y));
    __asm__("vorpd %1, %0, %0" : "+x"(x) : "x"(y));
    x = __builtin_fabs(x);
    __asm__("vorpd %1, %0, %0" : "+x"(x) : "x"(sign));
    return x;
#else
    return ein_max_f64(a, b);
#endif
}

//: ein_min_chained_f32
EIN_INLINE float ein_min_chained_f32(float a, float b) {
#ifdef __AVX__
    float x = a < b ? a : b, y = b < a ? b : a;
    __asm__("vorps %1, %0, %0" : "+x"(x) : "x"(y));
    return x;
#else
    return ein_min_f32(a, b);
#endif
}

//: ein_min_chained_f64
EIN_INLINE double ein_min_chained_f64(double a, double b) {
#ifdef __AVX__
    double x = a < b ? a : b, y = b < a ? b : a;
    __asm__("vorpd %1, %0, %0" : "+x"(x) : "x"(y));
    return x;
#else
    return ein_min_f64(a, b);
#endif
}

//: ein_max_key_f32
/* Floats as integers in the same order, all NaN above: a maximum of keys takes one cycle. */
EIN_INLINE uint32_t ein_max_key_f32(float x) {
    const int32_t bits = (int32_t)ein_bits_f32(x);
    return ((uint32_t)bits ^ ((uint32_t)(bits >> 31) & 0x7fffffff)) + 0x7f800001;
}

//: ein_max_unkey_f32
EIN_INLINE float ein_max_unkey_f32(uint32_t key) {
    const int32_t bits = (int32_t)(key - 0x7f800001);
    return ein_from_bits_f32((uint32_t)bits ^ ((uint32_t)(bits >> 31) & 0x7fffffff));
}

//: ein_min_key_f32
/* Floats as integers in the same order, all NaN below: a minimum of keys takes one cycle. */
EIN_INLINE uint32_t ein_min_key_f32(float x) {
    const int32_t bits = (int32_t)ein_bits_f32(x);
    return ((uint32_t)bits ^ ((uint32_t)(bits >> 31) & 0x7fffffff)) - 0x7f800001;
}

//: ein_min_unkey_f32
EIN_INLINE float ein_min_unkey_f32(uint32_t key) {
    const int32_t bits = (int32_t)(key + 0x7f800001);
    return ein_from_bits_f32((uint32_t)bits ^ ((uint32_t)(bits >> 31) & 0x7fffffff));
}

//: ein_max_key_f64
/* Doubles as integers in the same order, all NaN above. */
EIN_INLINE uint64_t ein_max_key_f64(double x) {
    const int64_t bits = (int64_t)ein_bits_f64(x);
    return ((uint64_t)bits ^ ((uint64_t)(bits >> 63) & 0x7fffffffffffffff)) + 0x7ff0000000000001;
}

//: ein_max_unkey_f64
EIN_INLINE double ein_max_unkey_f64(uint64_t key) {
    const int64_t bits = (int64_t)(key - 0x7ff0000000000001);
    return ein_from_bits_f64((uint64_t)bits ^ ((uint64_t)(bits >> 63) & 0x7fffffffffffffff));
}

//: ein_min_key_f64
/* Doubles as integers in the same order, all NaN below. */
EIN_INLINE uint64_t ein_min_key_f64(double x) {
    const int64_t bits = (int64_t)ein_bits_f64(x);
    return ((uint64_t)bits ^ ((uint64_t)(bits >> 63) & 0x7fffffffffffffff)) - 0x7ff0000000000001;
}

//: ein_min_unkey_f64
EIN_INLINE double ein_min_unkey_f64(uint64_t key) {
    const int64_t bits = (int64_t)(key + 0x7ff0000000000001);
    return ein_from_bits_f64((uint64_t)bits ^ ((uint64_t)(bits >> 63) & 0x7fffffffffffffff));
}

//: ein_power_int
/* The low bits of a power; of a negative exponent 1. */
EIN_INLINE uint64_t ein_power_int(uint64_t x, int64_t n) {
    uint64_t result = 1;
    for (; n > 0; n >>= 1, x *= x) result = n & 1 ? result * x : result;
    return result;
}

//: ein_power_leaves
/* Whether a power leaves low..high. */
EIN_INLINE bool ein_power_leaves(__int128 x, __int128 n, __int128 low, __int128 high) {
    __int128 result = 1;
    bool out = false;
    while (n > 0 && !out) {
        if (n & 1) out = __builtin_mul_overflow(result, x, &result) || result < low || result > high;
        n >>= 1;
        if (n > 0) out = out || __builtin_mul_overflow(x, x, &x) || x > high;
    }
    return out;
}

//: ein_floormod_f32
EIN_INLINE float ein_floormod_f32(float a, float b) {
    const float rest = __builtin_fmodf(a, b);
    const float turned = (rest < 0) != (b < 0) ? rest + b : rest;
    return rest == 0 ? __builtin_copysignf(0, b) : turned;
}

//: ein_floormod_f64
EIN_INLINE double ein_floormod_f64(double a, double b) {
    const double rest = __builtin_fmod(a, b);
    const double turned = (rest < 0) != (b < 0) ? rest + b : rest;
    return rest == 0 ? __builtin_copysign(0, b) : turned;
}

//: ein_floordiv_f32
EIN_INLINE float ein_floordiv_f32(float a, float b) {
    const float rest = __builtin_fmodf(a, b);
    const float down = rest != 0 && (rest < 0) != (b < 0) ? 1 : 0;
    const float near = (a - rest) / b - down;
    return b == 0 || near == 0 ? __builtin_floorf(a / b) : __builtin_rintf(near);
}

//: ein_floordiv_f64
EIN_INLINE double ein_floordiv_f64(double a, double b) {
    const double rest = __builtin_fmod(a, b);
    const double down = rest != 0 && (rest < 0) != (b < 0) ? 1 : 0;
    const double near = (a - rest) / b - down;
    return b == 0 || near == 0 ? __builtin_floor(a / b) : __builtin_rint(near);
}

//: ein_lane_i32
static const int32_t ein_lane_i32[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

//: ein_lane_i64
static const int64_t ein_lane_i64[8] = {0, 1, 2, 3, 4, 5, 6, 7};

//: ein_total_f32
/* The sum of the lanes, by halves. */
EIN_INLINE float ein_total_f32(const float *lanes) {
    float half[8], rest[4];
#pragma omp simd
    for (int i = 0; i < 8; i++) half[i] = lanes[i] + lanes[i + 8];
#pragma omp simd
    for (int i = 0; i < 4; i++) rest[i] = half[i] + half[i + 4];
    const float a = rest[0] + rest[2], b = rest[1] + rest[3];
    return a + b;
}

//: ein_total_f64
/* The sum of the lanes, by halves. */
EIN_INLINE double ein_total_f64(const double *lanes) {
    double half[4], rest[2];
#pragma omp simd
    for (int i = 0; i < 4; i++) half[i] = lanes[i] + lanes[i + 4];
#pragma omp simd
    for (int i = 0; i < 2; i++) rest[i] = half[i] + half[i + 2];
    return rest[0] + rest[1];
}

//: ein_least_u32
/* The least of the lanes. */
EIN_INLINE uint32_t ein_least_u32(const uint32_t *lanes) {
    uint32_t half[8], rest[4];
#pragma omp simd
    for (int i = 0; i < 8; i++) half[i] = lanes[i] < lanes[i + 8] ? lanes[i] : lanes[i + 8];
#pragma omp simd
    for (int i = 0; i < 4; i++) rest[i] = half[i] < half[i + 4] ? half[i] : half[i + 4];
    const uint32_t a = rest[0] < rest[2] ? rest[0] : rest[2], b = rest[1] < rest[3] ? rest[1] : rest[3];
    return a < b ? a : b;
}

//: ein_greatest_u32
/* The greatest of the lanes. */
EIN_INLINE uint32_t ein_greatest_u32(const uint32_t *lanes) {
    uint32_t half[8], rest[4];
#pragma omp simd
    for (int i = 0; i < 8; i++) half[i] = lanes[i] > lanes[i + 8] ? lanes[i] : lanes[i + 8];
#pragma omp simd
    for (int i = 0; i < 4; i++) rest[i] = half[i] > half[i + 4] ? half[i] : half[i + 4];
    const uint32_t a = rest[0] > rest[2] ? rest[0] : rest[2], b = rest[1] > rest[3] ? rest[1] : rest[3];
    return a > b ? a : b;
}

//: ein_least_u64
/* The least of the lanes. */
EIN_INLINE uint64_t ein_least_u64(const uint64_t *lanes) {
    uint64_t half[4], rest[2];
#pragma omp simd
    for (int i = 0; i < 4; i++) half[i] = lanes[i] < lanes[i + 4] ? lanes[i] : lanes[i + 4];
#pragma omp simd
    for (int i = 0; i < 2; i++) rest[i] = half[i] < half[i + 2] ? half[i] : half[i + 2];
    return rest[0] < rest[1] ? rest[0] : rest[1];
}

//: ein_greatest_u64
/* The greatest of the lanes. */
EIN_INLINE uint64_t ein_greatest_u64(const uint64_t *lanes) {
    uint64_t half[4], rest[2];
#pragma omp simd
    for (int i = 0; i < 4; i++) half[i] = lanes[i] > lanes[i + 4] ? lanes[i] : lanes[i + 4];
#pragma omp simd
    for (int i = 0; i < 2; i++) rest[i] = half[i] > half[i + 2] ? half[i] : half[i + 2];
    return rest[0] > rest[1] ? rest[0] : rest[1];
}
