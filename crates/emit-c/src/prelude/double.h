//: ein_pair
/* A value as a head and a much smaller tail. */
typedef struct {
    double head, tail;
} ein_pair;

//: ein_pair_sum
EIN_INLINE ein_pair ein_pair_sum(double a, double b) {
    const double head = a + b, from_b = head - a;
    return (ein_pair){head, (a - (head - from_b)) + (b - from_b)};
}

//: ein_pair_ordered
/* a + b where |a| >= |b|. */
EIN_INLINE ein_pair ein_pair_ordered(double a, double b) {
    const double head = a + b;
    return (ein_pair){head, b - (head - a)};
}

//: ein_pair_product
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
EIN_INLINE ein_pair ein_pair_product(double a, double b) {
    const double head = a * b;
    return (ein_pair){head, __builtin_fma(a, b, -head)};
}
#else
EIN_INLINE ein_pair ein_pair_product(double a, double b) {
    const double head = a * b, s = 134217729.0 * a, t = 134217729.0 * b;
    const double a1 = s - (s - a), a2 = a - a1, b1 = t - (t - b), b2 = b - b1;
    return (ein_pair){head, ((a1 * b1 - head) + a1 * b2 + a2 * b1) + a2 * b2};
}
#endif

//: ein_pair_plus
EIN_INLINE ein_pair ein_pair_plus(ein_pair a, ein_pair b) {
    const ein_pair heads = ein_pair_sum(a.head, b.head);
    return ein_pair_ordered(heads.head, heads.tail + (a.tail + b.tail));
}

//: ein_pair_add
EIN_INLINE ein_pair ein_pair_add(ein_pair a, double b) {
    const ein_pair heads = ein_pair_sum(a.head, b);
    return ein_pair_ordered(heads.head, heads.tail + a.tail);
}

//: ein_pair_times
EIN_INLINE ein_pair ein_pair_times(ein_pair a, ein_pair b) {
    const ein_pair heads = ein_pair_product(a.head, b.head);
    return ein_pair_ordered(heads.head, heads.tail + (a.head * b.tail + a.tail * b.head));
}

//: ein_pair_over
EIN_INLINE ein_pair ein_pair_over(ein_pair a, ein_pair b) {
    const double quotient = a.head / b.head;
    const ein_pair back = ein_pair_product(quotient, b.head);
    const double rest = (a.head - back.head) - back.tail + a.tail - quotient * b.tail;
    return ein_pair_ordered(quotient, rest / b.head);
}

//: ein_pair_sqrt
EIN_INLINE ein_pair ein_pair_sqrt(ein_pair a) {
    const double root = __builtin_sqrt(a.head);
    const ein_pair back = ein_pair_product(root, root);
    const double rest = (a.head - back.head) - back.tail + a.tail;
    const ein_pair result = ein_pair_ordered(root, rest / (2.0 * root));
    return (ein_pair){root == 0 ? root : result.head, root == 0 ? 0.0 : result.tail};
}

//: ein_pair_scaled
EIN_INLINE ein_pair ein_pair_scaled(ein_pair a, double factor) {
    return (ein_pair){a.head * factor, a.tail * factor};
}

//: ein_pow2_f64
/* 2^k for -1022 <= k <= 1023. */
EIN_INLINE double ein_pow2_f64(int64_t k) {
    return ein_from_bits_f64((uint64_t)(k + 1023) << 52);
}

//: ein_beyond_f64
/* e^(r + rest) - 1 - r for |r| <= ln 2 / 2. */
EIN_INLINE double ein_beyond_f64(double r, double rest) {
    double p = @EXP[10];
    p = ein_fma_f64(p, r, @EXP[9]);
    p = ein_fma_f64(p, r, @EXP[8]);
    p = ein_fma_f64(p, r, @EXP[7]);
    p = ein_fma_f64(p, r, @EXP[6]);
    p = ein_fma_f64(p, r, @EXP[5]);
    p = ein_fma_f64(p, r, @EXP[4]);
    p = ein_fma_f64(p, r, @EXP[3]);
    p = ein_fma_f64(p, r, @EXP[2]);
    p = ein_fma_f64(p, r, @EXP[1]);
    p = ein_fma_f64(p, r, @EXP[0]);
    return ein_fma_f64(r * r, p, ein_fma_f64(rest, r, rest));
}

//: ein_reduce_f64
/* x + tail = n ln 2 + r + rest, for |x| <= 1200; 1.5 * 2^52 leaves no bits after the point. */
#define ein_reduce_f64(x, more, n, r, rest)                                                       \
    const double shifted = ein_fma_f64(x, 1.4426950408889634, 6755399441055744.0);                \
    const double k = shifted - 6755399441055744.0;                                                \
    const int64_t n = (int64_t)(ein_bits_f64(shifted) - 0x4338000000000000);                      \
    const double high = ein_fma_f64(k, -@LN2_HI, x);                                   \
    const double low = ein_fma_f64(k, @LN2_LO, -(more));                           \
    const double r = high - low, rest = (high - r) - low

//: ein_scale_f64
/* x 2^n with one rounding, for |n| < 2000 and x near 1. */
EIN_INLINE double ein_scale_f64(double x, int64_t n) {
    const int64_t half = n >> 1;
    return x * ein_pow2_f64(half) * ein_pow2_f64(n - half);
}

//: ein_exp_scaled
/* 2^shift e^(x + tail). */
EIN_INLINE double ein_exp_scaled(double x, double tail, int64_t shift) {
    double c = x > 1000.0 ? 1000.0 : x;
    c = c < -1000.0 ? -1000.0 : c;
    ein_reduce_f64(c, tail, n, r, rest);
    const ein_pair one = ein_pair_ordered(1.0, r);
    const double e = one.head + (one.tail + ein_beyond_f64(r, rest));
    return ein_scale_f64(e, n + shift);
}

//: ein_exp_f64
EIN_INLINE double ein_exp_f64(double x) {
    const double c = x < -1000.0 ? -1000.0 : x;
    ein_reduce_f64(c, 0.0, n, r, rest);
    const double y = ein_scale_f64(1.0 + (r + ein_beyond_f64(r, rest)), n);
    return x > 710.0 ? __builtin_inf() : y;
}

//: ein_exp2_f64
EIN_INLINE double ein_exp2_f64(double x) {
    double c = x > 1200.0 ? 1200.0 : x;
    c = c < -1200.0 ? -1200.0 : c;
    const double shifted = c + 6755399441055744.0, f = c - (shifted - 6755399441055744.0);
    const int64_t n = (int64_t)(ein_bits_f64(shifted) - 0x4338000000000000);
    const ein_pair r = ein_pair_product(f, 0.6931471805599453);
    const double more = ein_beyond_f64(r.head, r.tail + f * 2.3190468138462996e-17);
    return ein_scale_f64(1.0 + (r.head + more), n);
}

//: ein_expm1_parts
/* e^x - 1 = (a pair) 2^n for |x| <= 1000. */
#define ein_expm1_parts(x, n, mantissa)                                                           \
    ein_reduce_f64(x, 0.0, n, r, rest);                                                           \
    const double more = ein_beyond_f64(r, rest);                                                  \
    const ein_pair around = ein_pair_ordered(r, more);                                            \
    const ein_pair ones = ein_pair_ordered(1.0 - ein_scale_f64(1.0, -n), r);                      \
    const ein_pair beside = ein_pair_ordered(ones.head, ones.tail + more);                        \
    const ein_pair mantissa = {n == 0 ? around.head : beside.head,                                \
                               n == 0 ? around.tail : beside.tail}

//: ein_expm1_f64
EIN_INLINE double ein_expm1_f64(double x) {
    double c = x > 1000.0 ? 1000.0 : x;
    c = c < -60.0 ? -60.0 : c;
    ein_expm1_parts(c, n, mantissa);
    const double y = ein_scale_f64(mantissa.head + mantissa.tail, n);
    return __builtin_fabs(x) < 1e-17 ? x : y;
}

//: ein_expm1_pair
/* e^x - 1 for 0 <= x <= 50. */
EIN_INLINE ein_pair ein_expm1_pair(double x) {
    ein_expm1_parts(x, n, mantissa);
    return ein_pair_scaled(mantissa, ein_pow2_f64(n));
}

//: ein_sinh_f64
EIN_INLINE double ein_sinh_f64(double x) {
    const double a = __builtin_fabs(x), c = a > 22.0 ? 22.0 : a;
    const ein_pair t = ein_expm1_pair(c);
    const ein_pair y = ein_pair_plus(t, ein_pair_over(t, ein_pair_add(t, 1.0)));
    const double near = 0.5 * y.head + 0.5 * y.tail, far = ein_exp_scaled(a, 0.0, -1);
    return a < 1e-8 ? x : __builtin_copysign(a > 22.0 ? far : near, x);
}

//: ein_cosh_f64
EIN_INLINE double ein_cosh_f64(double x) {
    const double half = ein_exp_scaled(__builtin_fabs(x), 0.0, -1);
    return half + 0.25 / half;
}

//: ein_tanh_f64
EIN_INLINE double ein_tanh_f64(double x) {
    const double a = __builtin_fabs(x), c = a > 22.0 ? 22.0 : a;
    const ein_pair pair = ein_expm1_pair(2.0 * c);
    const double t = pair.head + pair.tail, near = t / (t + 2.0);
    return a < 1e-8 ? x : __builtin_copysign(a > 22.0 ? 1.0 : near, x);
}

//: ein_log_special_f64
/* y, if x is positive and finite, else what the logarithm of x is. */
EIN_INLINE double ein_log_special_f64(double x, double y) {
    const double high = x < __builtin_inf() ? y : x;
    const double low = x == 0 ? -__builtin_inf() : __builtin_nan("");
    return x > 0 ? high : low;
}

//: ein_split_f64
/* x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2). */
#define ein_split_f64(x, k, f)                                                                    \
    const bool tiny = (x) < 2.2250738585072014e-308;                                              \
    const uint64_t bits =                                                                         \
        ein_bits_f64(tiny ? (x) * 18014398509481984.0 : (x)) - 0x3fe6a09e667f3bcd;                \
    const double k = ein_small_int_f64((int64_t)bits >> 52) - (tiny ? 54.0 : 0.0);                \
    const double f = ein_from_bits_f64((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0

//: ein_small_int_f64
/* A small integer as a double, without a conversion that vectors may lack. */
EIN_INLINE double ein_small_int_f64(int64_t n) {
    return ein_from_bits_f64((uint64_t)n + 0x4338000000000000) - 6755399441055744.0;
}

//: ein_log1f_f64
/* f^2 / 2 and what is to be added to f - f^2 / 2 to give log(1 + f). */
#define ein_log1f_f64(f, half_square, more)                                                       \
    const double s = (f) / (2.0 + (f)), z = s * s, half_square = 0.5 * (f) * (f);                 \
    double q = ein_fma_f64(@LOG[6], z, @LOG[5]);                          \
    q = ein_fma_f64(q, z, @LOG[4]);                                                    \
    q = ein_fma_f64(q, z, @LOG[3]);                                                   \
    q = ein_fma_f64(q, z, @LOG[2]);                                                   \
    q = ein_fma_f64(q, z, @LOG[1]);                                                    \
    q = ein_fma_f64(q, z, @LOG[0]);                                                     \
    const double more = s * ein_fma_f64(z, q, half_square)

//: ein_log_combine
/* k ln 2 + log(1 + f) + rest. */
EIN_INLINE double ein_log_combine(double k, double f, double rest) {
    ein_log1f_f64(f, half_square, more);
    const double low = more + ein_fma_f64(k, @LN2_LO, rest);
    return ein_fma_f64(k, @LN2_HI, -((half_square - low) - f));
}

//: ein_log_f64
EIN_INLINE double ein_log_f64(double x) {
    ein_split_f64(x, k, f);
    return ein_log_special_f64(x, ein_log_combine(k, f, 0.0));
}

//: ein_log_scaled
/* log(2^shift (x + tail)) for a positive normal x. */
EIN_INLINE double ein_log_scaled(double x, double tail, double shift) {
    ein_split_f64(x, k, f);
    return ein_log_combine(k + shift, f, tail / x);
}

//: ein_log1p_pair
/* log(1 + x) for a finite x > -1; near 0, x itself is the f of the formula. */
EIN_INLINE double ein_log1p_pair(ein_pair x) {
    const bool near = -0.29 < x.head && x.head < 0.41;
    const ein_pair sum = ein_pair_sum(1.0, x.head);
    ein_split_f64(sum.head, k, f);
    const double tail = near ? x.tail : sum.tail + x.tail;
    return ein_log_combine(near ? 0.0 : k, near ? x.head : f, tail / sum.head);
}

//: ein_log1p_f64
EIN_INLINE double ein_log1p_f64(double x) {
    const double y = ein_log1p_pair((ein_pair){x, 0.0});
    return __builtin_fabs(x) < 1e-17 ? x : ein_log_special_f64(1.0 + x, y);
}

//: ein_log_based
/* k unit + log(1 + f) / log(base): the upper bits of the logarithm first, so that products with
   them are exact. */
EIN_INLINE double ein_log_based(double x, double inverse, double inverse_rest, double unit,
                                   double unit_rest) {
    ein_split_f64(x, k, f);
    ein_log1f_f64(f, half_square, more);
    const double high = ein_from_bits_f64(ein_bits_f64(f - half_square) & 0xffffffff00000000);
    const double low = ((f - high) - half_square) + more;
    const double rest = k * unit_rest + (low + high) * inverse_rest + low * inverse;
    const ein_pair sum = ein_pair_sum(k * unit, high * inverse);
    return ein_log_special_f64(x, sum.head + (sum.tail + rest));
}

//: ein_log2_f64
EIN_INLINE double ein_log2_f64(double x) {
    return ein_log_based(x, 1.4426946640014648, 3.768874985636099e-07, 1.0, 0.0);
}

//: ein_log10_f64
EIN_INLINE double ein_log10_f64(double x) {
    return ein_log_based(x, 0.4342944622039795, 1.9699272335463627e-08, 0.30102999566361177,
                         3.694239077158931e-13);
}

//: ein_asinh_f64
EIN_INLINE double ein_asinh_f64(double x) {
    const double a = __builtin_fabs(x), c = a > 1e9 ? 1e9 : a;
    const ein_pair square = ein_pair_product(c, c);
    const ein_pair root = ein_pair_sqrt(ein_pair_add(square, 1.0));
    const ein_pair beside = ein_pair_over(square, ein_pair_add(root, 1.0));
    const double near = ein_log1p_pair(ein_pair_add(beside, c));
    const double far = ein_log_scaled(a, 0.0, 1.0);
    const double y = __builtin_copysign(a > 1e9 ? far : near, x);
    return a < 1e-8 || !(a < __builtin_inf()) ? x : y;
}

//: ein_acosh_f64
EIN_INLINE double ein_acosh_f64(double x) {
    const double c = x > 1e9 ? 1e9 : x < 1.0 ? 1.0 : x;
    const ein_pair root = ein_pair_sqrt(ein_pair_add(ein_pair_product(c, c), -1.0));
    const double near = ein_log1p_pair(ein_pair_plus(root, ein_pair_sum(c, -1.0)));
    const double far = x < __builtin_inf() ? ein_log_scaled(x, 0.0, 1.0) : x;
    return x >= 1.0 ? (x > 1e9 ? far : near) : __builtin_nan("");
}

//: ein_atanh_f64
EIN_INLINE double ein_atanh_f64(double x) {
    const double a = __builtin_fabs(x), c = a < 1.0 ? a : 0.5;
    const ein_pair twice = {2.0 * c, 0.0};
    const double near = 0.5 * ein_log1p_pair(ein_pair_over(twice, ein_pair_sum(1.0, -c)));
    const double far = a == 1.0 ? __builtin_inf() : __builtin_nan("");
    return a < 1e-8 ? x : __builtin_copysign(a < 1.0 ? near : far, x);
}

//: ein_asin_poly
/* (asin(x) / x - 1) / x^2 of z = x^2, for |x| <= 1/2. */
EIN_INLINE double ein_asin_poly(double z) {
    double p = ein_fma_f64(@ASIN[13], z, @ASIN[12]);
    p = ein_fma_f64(p, z, @ASIN[11]);
    p = ein_fma_f64(p, z, @ASIN[10]);
    p = ein_fma_f64(p, z, @ASIN[9]);
    p = ein_fma_f64(p, z, @ASIN[8]);
    p = ein_fma_f64(p, z, @ASIN[7]);
    p = ein_fma_f64(p, z, @ASIN[6]);
    p = ein_fma_f64(p, z, @ASIN[5]);
    p = ein_fma_f64(p, z, @ASIN[4]);
    p = ein_fma_f64(p, z, @ASIN[3]);
    p = ein_fma_f64(p, z, @ASIN[2]);
    p = ein_fma_f64(p, z, @ASIN[1]);
    return ein_fma_f64(p, z, @ASIN[0]);
}

//: ein_asin_twice
/* 2 asin(sqrt((1 - x) / 2)) for x from 1/2 to 1, which is acos(x); NaN beyond 1. */
EIN_INLINE ein_pair ein_asin_twice(double x) {
    const double z = 0.5 * (1.0 - x);
    const ein_pair root = ein_pair_sqrt((ein_pair){z, 0.0});
    const double beyond = root.head * (z * ein_asin_poly(z));
    return ein_pair_scaled(ein_pair_ordered(root.head, root.tail + beyond), 2.0);
}

//: ein_asin_f64
EIN_INLINE double ein_asin_f64(double x) {
    const double a = __builtin_fabs(x);
    const double near = x + x * (x * x * ein_asin_poly(x * x));
    const ein_pair twice = ein_asin_twice(a);
    const ein_pair angle = ein_pair_ordered(1.5707963267948966, -twice.head);
    const double far = angle.head + (angle.tail + (6.123233995736766e-17 - twice.tail));
    return x == 0 ? x : a < 0.5 ? near : __builtin_copysign(far, x);
}

//: ein_acos_f64
EIN_INLINE double ein_acos_f64(double x) {
    const double a = __builtin_fabs(x);
    const double beyond = x * (x * x * ein_asin_poly(x * x));
    const ein_pair quarter = ein_pair_ordered(1.5707963267948966, -x);
    const double near = quarter.head + (quarter.tail + (6.123233995736766e-17 - beyond));
    const ein_pair twice = ein_asin_twice(a);
    const ein_pair half = ein_pair_ordered(3.141592653589793, -twice.head);
    const double left = half.head + (half.tail + (1.2246467991473532e-16 - twice.tail));
    return a < 0.5 ? near : x > 0 ? twice.head + twice.tail : left;
}

//: ein_atan_pair
/* The arc tangent of x + rest for 0 <= x < 1e17, around the nearest of five angles. */
EIN_INLINE ein_pair ein_atan_pair(double x, double rest) {
    const bool b0 = x < 0.4375, b1 = x < 0.6875, b2 = x < 1.1875, b3 = x < 2.4375;
    const double base = b0   ? 0.0
                        : b1 ? 0.4636476090008061
                        : b2 ? 0.7853981633974483
                        : b3 ? 0.982793723247329
                             : 1.5707963267948966;
    const double base_rest = b0   ? 0.0
                             : b1 ? 2.2698777452961687e-17
                             : b2 ? 3.061616997868383e-17
                             : b3 ? 1.3903311031230998e-17
                                  : 6.123233995736766e-17;
    const double above = b0   ? x
                         : b1 ? (2.0 * x - 1.0) + 2.0 * rest
                         : b2 ? (x - 1.0) + rest
                         : b3 ? (x - 1.5) + rest
                              : -1.0;
    const double below = b0 ? 1.0 : b1 ? 2.0 + x : b2 ? 1.0 + x : b3 ? 1.0 + 1.5 * x : x + rest;
    /* Of the rest, which is beyond the last digit, a few digits matter: 1 / (1 + z) is 1 - z + z^2. */
    const double t = above / below, z = t * t, more = b0 ? rest * (1.0 - z + z * z) : 0.0;
    double p = ein_fma_f64(@ATAN[11], z, @ATAN[10]);
    p = ein_fma_f64(p, z, @ATAN[9]);
    p = ein_fma_f64(p, z, @ATAN[8]);
    p = ein_fma_f64(p, z, @ATAN[7]);
    p = ein_fma_f64(p, z, @ATAN[6]);
    p = ein_fma_f64(p, z, @ATAN[5]);
    p = ein_fma_f64(p, z, @ATAN[4]);
    p = ein_fma_f64(p, z, @ATAN[3]);
    p = ein_fma_f64(p, z, @ATAN[2]);
    p = ein_fma_f64(p, z, @ATAN[1]);
    p = ein_fma_f64(p, z, @ATAN[0]);
    const ein_pair sum = ein_pair_ordered(base, t);
    return (ein_pair){sum.head, sum.tail + ((t * (z * p) + more) + base_rest)};
}

//: ein_atan_f64
EIN_INLINE double ein_atan_f64(double x) {
    const double a = __builtin_fabs(x);
    const ein_pair angle = ein_atan_pair(a < 1e17 ? a : 1e17, 0.0);
    return x != x ? x : __builtin_copysign(angle.head + angle.tail, x);
}

//: ein_atan2_f64
EIN_INLINE double ein_atan2_f64(double y, double x) {
    const double a = __builtin_fabs(y), b = __builtin_fabs(x), quotient = a / b;
    /* Both to the middle of the range, where the rest of the division is exact. */
    const double power = b > 1e100 ? 0x1p-665 : b < 1e-100 ? 0x1p664 : 1.0;
    const ein_pair top = {a * power, 0.0}, bottom = {b * power, 0.0};
    const ein_pair exact = ein_pair_over(top, bottom);
    const bool steep = quotient > 1e17, flat = quotient < 1e-17;
    const bool middle = !steep && !flat && quotient == quotient;
    const ein_pair angle = ein_atan_pair(middle ? exact.head : 1.0, middle ? exact.tail : 0.0);
    const bool both = a == b && (a == 0 || a == __builtin_inf());
    const double diagonal = a == 0 ? 0.0 : 0.7853981633974483;
    const double diagonal_rest = a == 0 ? 0.0 : 3.061616997868383e-17;
    const double head = both ? diagonal : steep ? 1.5707963267948966 : flat ? quotient : angle.head;
    const double tail =
        both ? diagonal_rest : steep ? 6.123233995736766e-17 : flat ? 0.0 : angle.tail;
    const ein_pair turned = ein_pair_ordered(3.141592653589793, -head);
    const double turned_rest = turned.tail + (1.2246467991473532e-16 - tail);
    const bool left = __builtin_copysign(1.0, x) < 0;
    const double result = __builtin_copysign(left ? turned.head + turned_rest : head + tail, y);
    return x != x || y != y ? __builtin_nan("") : result;
}

//: ein_log_pair
/* The logarithm of a finite x > 0 with a relative error below 2^-66. */
EIN_INLINE ein_pair ein_log_pair(double x) {
    ein_split_f64(x, k, f);
    const ein_pair s = ein_pair_over((ein_pair){f, 0.0}, ein_pair_sum(2.0, f));
    const ein_pair z = ein_pair_times(s, s);
    double p = ein_fma_f64(@ATANH_TAIL[6], z.head, @ATANH_TAIL[5]);
    p = ein_fma_f64(p, z.head, @ATANH_TAIL[4]);
    p = ein_fma_f64(p, z.head, @ATANH_TAIL[3]);
    p = ein_fma_f64(p, z.head, @ATANH_TAIL[2]);
    p = ein_fma_f64(p, z.head, @ATANH_TAIL[1]);
    p = ein_fma_f64(p, z.head, @ATANH_TAIL[0]);
    const ein_pair fifth = ein_pair_add((ein_pair){0.4, -2.2204460492503132e-17}, z.head * p);
    const ein_pair third = ein_pair_plus((ein_pair){0.6666666666666666, 3.700743415417188e-17},
                                         ein_pair_times(z, fifth));
    const ein_pair more = ein_pair_times(s, ein_pair_times(z, third));
    const ein_pair fraction = ein_pair_plus(ein_pair_scaled(s, 2.0), more);
    const ein_pair whole = {k * @LN2_HI, k * @LN2_LO};
    return ein_pair_plus(whole, fraction);
}

//: ein_power_special
/* x to the power y, given that of the magnitude; NaN there where a factor was infinite. */
EIN_INLINE double ein_power_special(double x, double y, double p, bool whole, bool odd) {
    const double a = __builtin_fabs(x);
    const bool edge = a == 0 || a == __builtin_inf(), up = (a == 0) != (y > 0);
    const bool beyond = __builtin_fabs(y) == __builtin_inf(), away = (a < 1) != (y > 0);
    double v = edge ? (up ? __builtin_inf() : 0.0) : beyond ? (away ? __builtin_inf() : 0.0) : p;
    v = a == 1 ? 1.0 : v;
    v = odd && __builtin_copysign(1.0, x) < 0 ? -v : v;
    v = x < 0 && a < __builtin_inf() && !whole ? __builtin_nan("") : v;
    v = x != x || y != y ? __builtin_nan("") : v;
    return y == 0 || x == 1 ? 1.0 : v;
}

//: ein_power_positive
/* x^(y + rest) for a finite x > 0. */
EIN_INLINE double ein_power_positive(double x, double y, double rest) {
    double c = y > 3.7e19 ? 3.7e19 : y;
    c = c < -3.7e19 ? -3.7e19 : c;
    const ein_pair log = ein_log_pair(x), product = ein_pair_product(c, log.head);
    const double tail = product.tail + (c * log.tail + rest * log.head);
    return ein_exp_scaled(product.head, tail, 0);
}

//: ein_pow_f64
EIN_INLINE double ein_pow_f64(double x, double y) {
    const double half = 0.5 * y, p = ein_power_positive(__builtin_fabs(x), y, 0.0);
    const bool whole = y == __builtin_trunc(y), odd = whole && half != __builtin_trunc(half);
    return ein_power_special(x, y, p, whole, odd);
}

//: ein_powi_f64
/* The exponent as a double, what that lacks, and whether it is odd. */
EIN_INLINE double ein_powi_f64(double x, double y, double rest, bool odd) {
    const double p = ein_power_positive(__builtin_fabs(x), y, rest);
    return ein_power_special(x, y, p, true, odd);
}

//: ein_erf_f64
/* Around 0 a polynomial in x^2; elsewhere 1 - e^(-x^2) p(t) with t = (|x| - 5/2) / (|x| + 5/2). */
EIN_INLINE double ein_erf_f64(double x) {
    const double a = __builtin_fabs(x), z = x * x, m = a > 6.0 ? 6.0 : a;
    const double t = (m - 2.5) / (m + 2.5);
    double p = @ERF_FAR[14];
    p = ein_fma_f64(p, t, @ERF_FAR[13]);
    p = ein_fma_f64(p, t, @ERF_FAR[12]);
    p = ein_fma_f64(p, t, @ERF_FAR[11]);
    p = ein_fma_f64(p, t, @ERF_FAR[10]);
    p = ein_fma_f64(p, t, @ERF_FAR[9]);
    p = ein_fma_f64(p, t, @ERF_FAR[8]);
    p = ein_fma_f64(p, t, @ERF_FAR[7]);
    p = ein_fma_f64(p, t, @ERF_FAR[6]);
    p = ein_fma_f64(p, t, @ERF_FAR[5]);
    p = ein_fma_f64(p, t, @ERF_FAR[4]);
    p = ein_fma_f64(p, t, @ERF_FAR[3]);
    p = ein_fma_f64(p, t, @ERF_FAR[2]);
    p = ein_fma_f64(p, t, @ERF_FAR[1]);
    p = ein_fma_f64(p, t, @ERF_FAR[0]);
    ein_reduce_f64(-(m * m), 0.0, n, r, rest);
    const double e = ein_pow2_f64(n) * (1.0 + (r + ein_beyond_f64(r, rest)));
    const double far = ein_fma_f64(-e, p, 1.0);
    double q = @ERF_NEAR[11];
    q = ein_fma_f64(q, z, @ERF_NEAR[10]);
    q = ein_fma_f64(q, z, @ERF_NEAR[9]);
    q = ein_fma_f64(q, z, @ERF_NEAR[8]);
    q = ein_fma_f64(q, z, @ERF_NEAR[7]);
    q = ein_fma_f64(q, z, @ERF_NEAR[6]);
    q = ein_fma_f64(q, z, @ERF_NEAR[5]);
    q = ein_fma_f64(q, z, @ERF_NEAR[4]);
    q = ein_fma_f64(q, z, @ERF_NEAR[3]);
    q = ein_fma_f64(q, z, @ERF_NEAR[2]);
    q = ein_fma_f64(q, z, @ERF_NEAR[1]);
    q = ein_fma_f64(q, z, @ERF_NEAR[0]);
    return a < 0.9375 || x != x ? (x == 0 ? x : ein_fma_f64(x, q, x)) : __builtin_copysign(far, x);
}

//: ein_quarter_huge
/* The quadrant and the rest of x >= 2^20: x by those bits of 2 / pi that reach the fraction. */
static ein_pair ein_quarter_huge(double x, int64_t *quadrant) {
    static const uint64_t words[22] = {
        0,
        0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
        0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
        0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
        0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
        0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
    };
    const uint64_t bits = ein_bits_f64(x);
    const int32_t start = (int32_t)(bits >> 52) - 1013, word = start / 64, shift = start % 64;
    const unsigned __int128 mantissa = (bits & 0xfffffffffffff) | 0x10000000000000;
    uint64_t window[3];
    for (int i = 0; i < 3; i++) {
        const unsigned __int128 two =
            (unsigned __int128)words[word + i] << 64 | words[word + i + 1];
        window[i] = (uint64_t)(two >> (64 - shift));
    }
    const unsigned __int128 low = mantissa * window[2];
    const unsigned __int128 middle = mantissa * window[1] + (low >> 64);
    const unsigned __int128 high = mantissa * window[0] + (middle >> 64);
    const unsigned __int128 top = (unsigned __int128)(uint64_t)high << 64 | (uint64_t)middle;
    const __int128 fraction = (__int128)(top << 2 | (uint64_t)low >> 62);
    const double head = (double)fraction;
    const double tail = (double)(__int128)((unsigned __int128)fraction - (unsigned __int128)(__int128)head);
    *quadrant = (int64_t)(top >> 126) + (fraction < 0);
    return ein_pair_times(ein_pair_scaled((ein_pair){head, tail}, 0x1p-128),
                          (ein_pair){1.5707963267948966, 6.123233995736766e-17});
}

//: ein_is_far_f64
/* Whether the quarter turns of x take more than a few parts of pi / 2. */
EIN_INLINE uint64_t ein_is_far_f64(double x) {
    return !(__builtin_fabs(x) < 1.6e6);
}

//: ein_quarter_near_f64
/* The quadrant and the rest of x, which is not far, after the nearest multiple of pi / 2. */
EIN_INLINE ein_pair ein_quarter_near_f64(double x, int64_t *quadrant) {
    const double shifted = ein_fma_f64(x, 0.6366197723675814, 6755399441055744.0);
    const double k = shifted - 6755399441055744.0;
    *quadrant = (int64_t)ein_bits_f64(shifted);
    const double first = ein_fma_f64(k, -1.5707963267341256, x);
    const ein_pair near = ein_pair_sum(first, -(k * 6.077100506303966e-11));
    const ein_pair nearer = ein_pair_sum(near.head, -(k * 2.0222662487111665e-21));
    return ein_pair_ordered(nearer.head, near.tail + nearer.tail - k * 8.4784276603689e-32);
}

//: ein_quarter_f64
/* The quadrant and the rest of x after the nearest multiple of pi / 2. */
EIN_INLINE ein_pair ein_quarter_f64(double x, int64_t *quadrant) {
    const double a = __builtin_fabs(x);
    if (ein_is_far_f64(x)) {
        const ein_pair rest = ein_quarter_huge(a < __builtin_inf() ? a : 1e300, quadrant);
        *quadrant = x < 0 ? -*quadrant : *quadrant;
        return ein_pair_scaled(rest, a < __builtin_inf() ? x < 0 ? -1.0 : 1.0 : __builtin_nan(""));
    }
    return ein_quarter_near_f64(x, quadrant);
}

//: ein_sin_pair
EIN_INLINE ein_pair ein_sin_pair(ein_pair r) {
    const double x = r.head, z = x * x;
    double p = ein_fma_f64(@SIN[6], z, @SIN[5]);
    p = ein_fma_f64(p, z, @SIN[4]);
    p = ein_fma_f64(p, z, @SIN[3]);
    p = ein_fma_f64(p, z, @SIN[2]);
    p = ein_fma_f64(p, z, @SIN[1]);
    p = ein_fma_f64(p, z, @SIN[0]);
    return ein_pair_ordered(x, x * z * p + r.tail * (1.0 - 0.5 * z));
}

//: ein_cos_pair
EIN_INLINE ein_pair ein_cos_pair(ein_pair r) {
    const ein_pair square = ein_pair_product(r.head, r.head);
    const double z = square.head;
    double p = ein_fma_f64(@COS[6], z, @COS[5]);
    p = ein_fma_f64(p, z, @COS[4]);
    p = ein_fma_f64(p, z, @COS[3]);
    p = ein_fma_f64(p, z, @COS[2]);
    p = ein_fma_f64(p, z, @COS[1]);
    p = ein_fma_f64(p, z, @COS[0]);
    const ein_pair start = ein_pair_ordered(1.0, -0.5 * z);
    const double rest = z * z * p - r.head * r.tail - 0.5 * square.tail;
    return ein_pair_ordered(start.head, start.tail + rest);
}

//: ein_sin_turned
EIN_INLINE double ein_sin_turned(double x, ein_pair r, int64_t quadrant) {
    const ein_pair s = ein_sin_pair(r), c = ein_cos_pair(r);
    const double y = quadrant & 1 ? c.head + c.tail : s.head + s.tail;
    return __builtin_fabs(x) < 1e-8 ? x : quadrant & 2 ? -y : y;
}

//: ein_cos_turned
EIN_INLINE double ein_cos_turned(double x, ein_pair r, int64_t quadrant) {
    const ein_pair s = ein_sin_pair(r), c = ein_cos_pair(r);
    const double y = quadrant & 1 ? s.head + s.tail : c.head + c.tail;
    return (quadrant + 1) & 2 ? -y : y;
}

//: ein_tan_turned
EIN_INLINE double ein_tan_turned(double x, ein_pair r, int64_t quadrant) {
    const ein_pair s = ein_sin_pair(r), c = ein_cos_pair(r);
    const bool odd = quadrant & 1;
    const ein_pair top = odd ? c : s, bottom = odd ? s : c, y = ein_pair_over(top, bottom);
    const double size = y.head + y.tail;
    return __builtin_fabs(x) < 1e-8 ? x : odd ? -size : size;
}

//: ein_is_beyond_f64
/* Whether x is not near: the quarter turns of what is near are taken out with three parts of pi / 2. */
EIN_INLINE uint64_t ein_is_beyond_f64(double x) {
    return !(__builtin_fabs(x) < 1e5);
}

//: ein_turn
/* A number of quarter turns, and sine and cosine of the rest. */
typedef struct {
    ein_pair sin, cos;
    int64_t turns;
} ein_turn;

//: ein_turn_near_f64
/* The quarter turns of x, which is near, and the rest. */
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
EIN_INLINE ein_turn ein_turn_near_f64(double x) {
    const double shifted = __builtin_fma(x, 0.6366197723675814, 6755399441055744.0);
    const double n = shifted - 6755399441055744.0;
    const double first = __builtin_fma(-n, 1.5707963267341256, x), second = n * 6.077100506303966e-11;
    const double r = first - second, lost = (first - r) - second;
    const double exact = __builtin_fma(-n, 6.077100506303966e-11, second);
    const double rest = __builtin_fma(-n, 2.0222662487959506e-21, lost) + exact;
    const double head = r + rest, tail = (r - head) + rest, z = head * head, half = 0.5 * z;
    double s = ein_fma_f64(@SIN[6], z, @SIN[5]);
    s = ein_fma_f64(s, z, @SIN[4]);
    s = ein_fma_f64(s, z, @SIN[3]);
    s = ein_fma_f64(s, z, @SIN[2]);
    s = ein_fma_f64(s, z, @SIN[1]);
    s = ein_fma_f64(s, z, @SIN[0]);
    double c = ein_fma_f64(@COS[6], z, @COS[5]);
    c = ein_fma_f64(c, z, @COS[4]);
    c = ein_fma_f64(c, z, @COS[3]);
    c = ein_fma_f64(c, z, @COS[2]);
    c = ein_fma_f64(c, z, @COS[1]);
    c = ein_fma_f64(c, z, @COS[0]);
    const double more = ein_fma_f64(head * z, s, ein_fma_f64(-half, tail, tail)), one = 1.0 - half;
    const double low = ein_fma_f64(z * z, c, -head * tail) + ((1.0 - one) - half);
    return (ein_turn){{head, more}, {one, low}, (int64_t)ein_bits_f64(shifted)};
}
#else
EIN_INLINE ein_turn ein_turn_near_f64(double x) {
    int64_t quadrant;
    const ein_pair r = ein_quarter_near_f64(x, &quadrant);
    return (ein_turn){ein_sin_pair(r), ein_cos_pair(r), quadrant};
}
#endif

//: ein_sin_f64
EIN_INLINE double ein_sin_f64(double x) {
    int64_t quadrant;
    const ein_pair r = ein_quarter_f64(x, &quadrant);
    return ein_sin_turned(x, r, quadrant);
}

//: ein_sin_near_f64
/* For x that is not far: without a branch, so that loops can do it in vectors. */
EIN_INLINE double ein_sin_near_f64(double x) {
    const ein_turn it = ein_turn_near_f64(x);
    const double y = it.turns & 1 ? it.cos.head + it.cos.tail : it.sin.head + it.sin.tail;
    return x == 0 ? x : it.turns & 2 ? -y : y;
}

//: ein_cos_f64
EIN_INLINE double ein_cos_f64(double x) {
    int64_t quadrant;
    const ein_pair r = ein_quarter_f64(x, &quadrant);
    return ein_cos_turned(x, r, quadrant);
}

//: ein_cos_near_f64
/* For x that is not far: without a branch, so that loops can do it in vectors. */
EIN_INLINE double ein_cos_near_f64(double x) {
    const ein_turn it = ein_turn_near_f64(x);
    const double y = it.turns & 1 ? it.sin.head + it.sin.tail : it.cos.head + it.cos.tail;
    return (it.turns + 1) & 2 ? -y : y;
}

//: ein_tan_f64
EIN_INLINE double ein_tan_f64(double x) {
    int64_t quadrant;
    const ein_pair r = ein_quarter_f64(x, &quadrant);
    return ein_tan_turned(x, r, quadrant);
}

//: ein_tan_near_f64
/* For x that is not far: without a branch, so that loops can do it in vectors. */
EIN_INLINE double ein_tan_near_f64(double x) {
    const ein_turn it = ein_turn_near_f64(x);
    const bool odd = it.turns & 1;
    const ein_pair a = odd ? it.cos : it.sin, b = odd ? it.sin : it.cos;
    const ein_pair top = ein_pair_ordered(a.head, a.tail), bottom = ein_pair_ordered(b.head, b.tail);
    const ein_pair y = ein_pair_over(top, bottom);
    const double size = y.head + y.tail;
    return x == 0 ? x : odd ? -size : size;
}
