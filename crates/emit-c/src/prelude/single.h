//: ein_pow2_f32
/* 2^k for -126 <= k <= 127. */
EIN_INLINE float ein_pow2_f32(int32_t k) {
    return ein_from_bits_f32((uint32_t)(k + 127) << 23);
}

//: ein_beyond_f32
/* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2. */
EIN_INLINE float ein_beyond_f32(float r) {
    float q = ein_fma_f32(0.00019845898f, r, 0.0013940893f);
    q = ein_fma_f32(q, r, 0.00833339f);
    q = ein_fma_f32(q, r, 0.04166636f);
    q = ein_fma_f32(q, r, 0.16666666f);
    return ein_fma_f32(q, r, 0.5f);
}

//: ein_expr_f32
/* e^r for |r| <= ln 2 / 2. */
EIN_INLINE float ein_expr_f32(float r) {
    float q = ein_fma_f32(0.0013814219f, r, 0.008368899f);
    q = ein_fma_f32(q, r, 0.041668408f);
    q = ein_fma_f32(q, r, 0.1666652f);
    q = ein_fma_f32(q, r, 0.49999994f);
    return ein_fma_f32(r * r, q, r) + 1.0f;
}

//: ein_near_rsqrt_f32
/* 1 / sqrt(x) of an ordinary x: the exponent halved and negated, and one step of Newton's method
   with factors that spread the error evenly. */
EIN_INLINE float ein_near_rsqrt_f32(float x) {
    const float y = ein_from_bits_f32(0x5f1ffff9 - (ein_bits_f32(x) >> 1));
    return y * ein_fma_f32(-0.703952253f, x * y * y, 1.68191391f);
}

//: ein_wide_f32
/* (e^r - 1 - r) / r^2 for |r| <= ln 2. */
EIN_INLINE float ein_wide_f32(float r) {
    float q = ein_fma_f32(2.4438756e-05f, r, 0.00020110839f);
    q = ein_fma_f32(q, r, 0.0013893739f);
    q = ein_fma_f32(q, r, 0.008332522f);
    q = ein_fma_f32(q, r, 0.041666523f);
    q = ein_fma_f32(q, r, 0.16666675f);
    return ein_fma_f32(q, r, 0.5f);
}

//: ein_exp_f32
/* e^x = e^r 2^n 2^n: no power of two leaves the range, and a subnormal result is rounded once. */
EIN_INLINE float ein_exp_f32(float x) {
    const float c = x < -104.5f ? -104.5f : x;
    const float t = ein_fma_f32(c, 0.72134752f, 12582912.0f), n = t - 12582912.0f;
    float r = ein_fma_f32(n, -1.38629150390625f, c);
    r = ein_fma_f32(n, -2.8572135e-06f, r);
    const float power = ein_from_bits_f32((ein_bits_f32(t) << 23) + 0x3f800000);
    const float y = (ein_fma_f32(r * r, ein_wide_f32(r), r) + 1.0f) * power * power;
    return x > 88.8f ? __builtin_inff() : y;
}

//: ein_exp2_f32
EIN_INLINE float ein_exp2_f32(float x) {
    const float c = x < -151.0f ? -151.0f : x;
    const float t = ein_fma_f32(c, 0.5f, 12582912.0f), n = t - 12582912.0f;
    const float f = ein_fma_f32(n, -2.0f, c), r = f * 0.693147181f;
    const float rest = ein_fma_f32(f, -1.904654e-09f, ein_fma_f32(f, 0.693147181f, -r));
    const float power = ein_from_bits_f32((ein_bits_f32(t) << 23) + 0x3f800000);
    const float y = (ein_fma_f32(r * r, ein_wide_f32(r), rest) + r + 1.0f) * power * power;
    return x > 128.5f ? __builtin_inff() : y;
}

//: ein_expm1_f32
EIN_INLINE float ein_expm1_f32(float x) {
    const float c = x < -20.0f ? -20.0f : x;
    const float t = ein_fma_f32(c, 1.44269504f, 12582912.0f), k = t - 12582912.0f;
    float r = ein_fma_f32(k, -0.693145752f, c);
    r = ein_fma_f32(k, -1.42860677e-06f, r);
    const float p = ein_fma_f32(r * r, ein_beyond_f32(r), r);
    const float half = ein_pow2_f32((int32_t)(ein_bits_f32(t) - 0x4b400000) - 1);
    const float y = 2.0f * ein_fma_f32(half, p, half - 0.5f);
    return x > 88.8f ? __builtin_inff() : __builtin_copysignf(k == 0 ? p : y, x);
}

//: ein_tanh_f32
EIN_INLINE float ein_tanh_f32(float x) {
    const float a = __builtin_fabsf(x), c = a > 9.1f ? 9.1f : a, s = a * a;
    const float t = ein_fma_f32(c, 2.88539008f, 12582912.0f), k = t - 12582912.0f;
    float r = ein_fma_f32(k, -0.693145752f, 2.0f * c);
    r = ein_fma_f32(k, -1.42860677e-06f, r);
    const float e = ein_expr_f32(r) * ein_from_bits_f32((ein_bits_f32(t) << 23) + 0x3f800000);
    const float large = 1.0f - 2.0f / (e + 1.0f);
    float p = ein_fma_f32(-0.0056973873f, s, 0.02063255f);
    p = ein_fma_f32(p, s, -0.0537378f);
    p = ein_fma_f32(p, s, 0.1333142f);
    p = ein_fma_f32(p, s, -0.3333328f);
    const float small = ein_fma_f32(a * s, p, a);
    return __builtin_copysignf(a < 0.625f ? small : large, x);
}

//: ein_log1f_f32
/* log(1 + f) - f for 1 + f between sqrt(1/2) and sqrt(2). */
EIN_INLINE float ein_log1f_f32(float f) {
    const float s = f * f;
    float p = ein_fma_f32(0.06746592f, f, -0.11675639f);
    p = ein_fma_f32(p, f, 0.11888178f);
    p = ein_fma_f32(p, f, -0.12405592f);
    p = ein_fma_f32(p, f, 0.14219551f);
    p = ein_fma_f32(p, f, -0.16667996f);
    p = ein_fma_f32(p, f, 0.20002119f);
    p = ein_fma_f32(p, f, -0.2500001f);
    p = ein_fma_f32(p, f, 0.33333313f);
    return ein_fma_f32(p, f * s, -0.5f * s);
}

//: ein_log_special_f32
/* y, if x is positive and finite, else what the logarithm of x is. */
EIN_INLINE float ein_log_special_f32(float x, float y) {
    const float high = x < __builtin_inff() ? y : x;
    const float low = x == 0 ? -__builtin_inff() : __builtin_nanf("");
    return x > 0 ? high : low;
}

//: ein_split_f32
/* x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), for normal and subnormal x. */
#define ein_split_f32(x, k, f)                                                                    \
    const bool tiny = (x) < 1.17549435e-38f;                                                      \
    const uint32_t bits = ein_bits_f32(tiny ? (x) * 8388608.0f : (x)) - 0x3f3504f3;               \
    const float k = (float)((int32_t)bits >> 23) - (tiny ? 23.0f : 0.0f);                         \
    const float f = ein_from_bits_f32((bits & 0x7fffff) + 0x3f3504f3) - 1.0f

//: ein_log_f32
EIN_INLINE float ein_log_f32(float x) {
    ein_split_f32(x, k, f);
    const float y = ein_fma_f32(k, -2.12194440e-4f, ein_log1f_f32(f));
    return ein_log_special_f32(x, ein_fma_f32(k, 0.693359375f, f + y));
}

//: ein_log2_f32
EIN_INLINE float ein_log2_f32(float x) {
    ein_split_f32(x, k, f);
    const float y = ein_fma_f32(f, 1.92596303e-08f, ein_log1f_f32(f) * 1.44269504f);
    return ein_log_special_f32(x, k + ein_fma_f32(f, 1.44269502f, y));
}

//: ein_log10_f32
EIN_INLINE float ein_log10_f32(float x) {
    ein_split_f32(x, k, f);
    const float y = ein_fma_f32(f, -1.010305e-08f, ein_log1f_f32(f) * 0.434294482f);
    const float z = ein_fma_f32(f, 0.434294492f, ein_fma_f32(k, 4.60503907e-06f, y));
    return ein_log_special_f32(x, ein_fma_f32(k, 0.301025391f, z));
}

//: ein_log1p_f32
EIN_INLINE float ein_log1p_f32(float x) {
    const float u = 1.0f + x;
    const float rest = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
    const uint32_t bits = ein_bits_f32(u) - 0x3f3504f3;
    const int32_t n = (int32_t)bits >> 23;
    const float m = ein_from_bits_f32((bits & 0x7fffff) + 0x3f3504f3) - 1.0f, k = (float)n;
    const float f = m + rest * ein_pow2_f32(n < 126 ? -n : -126);
    const float y = ein_fma_f32(k, -2.12194440e-4f, ein_log1f_f32(f));
    const float z = ein_log_special_f32(u, ein_fma_f32(k, 0.693359375f, f + y));
    return x == 0 ? x : z;
}

//: ein_erf_f32
EIN_INLINE float ein_erf_f32(float x) {
    const float t = __builtin_fabsf(x), s = x * x;
    float q = ein_fma_f32(-1.72853470e-5f, t, 3.83197126e-4f);
    q = ein_fma_f32(q, s, ein_fma_f32(-3.88396438e-3f, t, 2.42546219e-2f));
    q = ein_fma_f32(q, t, -1.06777877e-1f);
    q = ein_fma_f32(q, t, -6.34846687e-1f);
    q = ein_fma_f32(q, t, -1.28717512e-1f);
    q = ein_fma_f32(q, t, -t);
    const float away = t > 4.0f ? 1.0f : 1.0f - ein_exp_f32(q);
    float p = ein_fma_f32(-5.96761703e-4f, s, 4.99119423e-3f);
    p = ein_fma_f32(p, s, -2.67681349e-2f);
    p = ein_fma_f32(p, s, 1.12819925e-1f);
    p = ein_fma_f32(p, s, -3.76125336e-1f);
    p = ein_fma_f32(p, s, 1.28379166e-1f);
    const float near = ein_fma_f32(p, x, x);
    return t > 0.927734375f ? __builtin_copysignf(away, x) : x == 0 ? x : near;
}

//: ein_turns_f32
/* 2^e 2/pi modulo 4 for e from -3 to 104: 27 bits after the point, and the rest. */
static const double ein_turns_f32[216] = {
    0.07957746833562851, 3.2103191583629576e-09, 0.15915494412183762, -1.0299422801979132e-09,
    0.31830988824367523, -2.0598845603958264e-09, 0.6366197690367699, 3.330811476132176e-09,
    1.2732395455241203, -7.889576446594768e-10, 2.5464790910482407, -1.5779152893189536e-09,
    1.0929581820964813, -3.1558305786379073e-09, 2.185916356742382, 1.138919439648014e-09,
    0.3718327134847641, 2.277838879296028e-09, 0.7436654344201088, -2.894902838331772e-09,
    1.487330861389637, 1.6607749202602838e-09, 2.974661722779274, 3.3215498405205676e-09,
    1.9493234530091286, -8.074809158826933e-10, 3.898646906018257, -1.6149618317653865e-09,
    3.7972938120365143, -3.229923663530773e-09, 3.594587616622448, 9.907332698622821e-10,
    3.189175233244896, 1.9814665397245642e-09, 2.3783504739403725, -3.4876475174746992e-09,
    0.7567009404301643, 4.752855619744297e-10, 1.5134018808603287, 9.505711239488593e-10,
    3.0268037617206573, 1.9011422478977186e-09, 2.0536075308918953, -3.648296101128391e-09,
    0.10721505433320999, 1.5398839466704606e-10, 0.21443010866641998, 3.0797678933409213e-10,
    0.42886021733283997, 6.159535786681843e-10, 0.8577204346656799, 1.2319071573363685e-09,
    1.7154408693313599, 2.463814314672737e-09, 3.4308817461133003, -2.522951967578354e-09,
    2.86176348477602, 2.4046766617671204e-09, 1.7235269770026207, -2.6412272733895872e-09,
    3.447053946554661, 2.1681260501446532e-09, 2.894107900559902, -3.1143284966345213e-09,
    1.7882157936692238, 1.2219236036547852e-09, 3.5764315873384476, 2.4438472073095704e-09,
    3.1528631821274757, -2.562886182304687e-09, 2.305726356804371, 2.3248082323144544e-09,
    0.6114527210593224, -2.8009641322949198e-09, 1.2229054346680641, 1.848652332333989e-09,
    2.4458108693361282, 3.697304664667978e-09, 0.8916217461228371, -5.597126758787221e-11,
    1.7832434922456741, -1.1194253517574442e-10, 3.5664869844913483, -2.2388507035148884e-10,
    3.1329739689826965, -4.477701407029777e-10, 2.265947937965393, -8.955402814059554e-10,
    0.5318958759307861, -1.7910805628119107e-09, 1.0637917518615723, -3.5821611256238215e-09,
    2.127583496272564, 2.8625834567618517e-10, 0.25516699254512787, 5.725166913523703e-10,
    0.5103339850902557, 1.1450333827047407e-09, 1.0206679701805115, 2.2900667654094814e-09,
    2.0413359478116035, -2.870447066104865e-09, 0.0826718881726265, 1.709686464714098e-09,
    0.165343776345253, 3.419372929428196e-09, 0.3306875601410866, -6.118347380674357e-10,
    0.6613751202821732, -1.2236694761348713e-09, 1.3227502405643463, -2.4473389522697427e-09,
    2.645500473678112, 2.555902692384343e-09, 1.2910009548068047, -2.3387752121551418e-09,
    2.5820019021630287, 2.773030172613544e-09, 1.164003811776638, -1.9045202516967394e-09,
    2.3280076161026955, 3.6415400935303494e-09, 0.6560152396559715, -1.6750040986312977e-10,
    1.312030479311943, -3.3500081972625953e-10, 2.624060958623886, -6.700016394525191e-10,
    1.2481219172477722, -1.3400032789050381e-09, 2.4962438344955444, -2.6800065578100763e-09,
    0.9924876615405083, 2.090567481303676e-09, 1.9849753305315971, -3.2694456343164765e-09,
    3.9699506536126137, 9.116893282908753e-10, 3.9399013072252274, 1.8233786565817506e-09,
    3.8798026144504547, 3.646757313163501e-09, 3.75960523635149, -1.5706597059682562e-10,
    3.51921047270298, -3.1413194119365123e-10, 3.03842094540596, -6.282638823873025e-10,
    2.07684189081192, -1.256527764774605e-09, 0.15368378162384033, -2.51305552954921e-09,
    0.30736755579710007, 2.4244695378254084e-09, 0.6147351190447807, -2.601641521273011e-09,
    1.2294702306389809, 2.247297554377806e-09, 2.4589404687285423, -2.955985488168216e-09,
    0.9178809300065041, 1.538609620587396e-09, 1.8357618600130081, 3.077219241174792e-09,
    3.671523727476597, -1.2961421145742448e-09, 3.3430474549531937, -2.5922842291484896e-09,
    2.6860949024558067, 2.2660121386268493e-09, 1.372189812362194, -2.9185563196701295e-09,
    2.7443796172738075, 1.613467957583569e-09, 1.488759234547615, 3.226935915167138e-09,
    2.9775184765458107, -9.967087665895522e-10, 1.9550369530916214, -1.9934175331791044e-09,
    3.910073898732662, 3.4637455305656194e-09, 3.820147804915905, -5.230895357925892e-10,
    3.64029560983181, -1.0461790715851783e-09, 3.28059121966362, -2.0923581431703566e-09,
    2.5611824318766594, 3.265864310583115e-09, 1.1223648712038994, -9.188519757575982e-10,
    2.2447297424077988, -1.8377039515151963e-09, 0.48945948481559753, -3.6754079030303927e-09,
    0.9789189621806145, 9.976479086304255e-11, 1.957837924361229, 1.995295817260851e-10,
    3.915675848722458, 3.990591634521702e-10, 3.8313516974449158, 7.981183269043404e-10,
    3.6627033948898315, 1.5962366538086808e-09, 3.325406789779663, 3.1924733076173616e-09,
    2.6508135870099068, -1.065633981689105e-09, 1.3016271740198135, -2.13126796337821e-09,
    2.6032543405890465, 3.188044670167408e-09, 1.2065086886286736, -1.0744912565890117e-09,
};

//: ein_quarter_f32
/* The quadrant of x, and what is left of x, in doubles. Up to 2^20 by subtraction of exact products;
   beyond, x is a whole number of 24 bits by a power of two, of which the quarter turns are known.
   All in 64 bits, so that vectors of one width do. */
#define ein_quarter_f32(x, quadrant, r)                                                           \
    const double wide = (x);                                                                      \
    const uint64_t bits = ein_bits_f64(wide), size = bits & 0x7fffffffffffffff;                   \
    const bool huge = size >= 0x4130000000000000;                                                 \
    const int64_t e = (int64_t)(size >> 52) - 1043, low = e < 0 ? 0 : e, at = low > 107 ? 107 : low;\
    const double k = __builtin_rint(wide * 0.6366197723675814);                                   \
    const double first = ein_fma_f64(k, -1.5707963267341256, wide);                               \
    const double near = ein_fma_f64(k, -2.0222662487959506e-21,                                   \
                                    ein_fma_f64(k, -6.077100506303966e-11, first));               \
    const double whole = ein_from_bits_f64((bits & 0x800fffffffffffff) | 0x4160000000000000);     \
    const double turns = whole * ein_turns_f32[2 * at], full = __builtin_rint(turns);             \
    const double far = ((turns - full) + whole * ein_turns_f32[2 * at + 1]) * 1.5707963267948966; \
    const uint64_t quadrant = ein_bits_f64((huge ? full : k) + 6755399441055744.0);               \
    const double r = huge ? far : near

//: ein_sin_part_f32
/* Sine and cosine of what is left. */
EIN_INLINE double ein_sin_part_f32(double r) {
    const double z = r * r;
    double p = 2.755731921932058e-06 - 2.50521062259944e-08 * z;
    p = -0.0001984126984126504 + p * z;
    p = 0.008333333333333331 + p * z;
    p = -0.16666666666666666 + p * z;
    return r + r * z * p;
}

//: ein_cos_part_f32
EIN_INLINE double ein_cos_part_f32(double r) {
    const double z = r * r;
    double p = -2.755731922139249e-07 + 2.0876755787492604e-09 * z;
    p = 2.4801587301584632e-05 + p * z;
    p = -0.0013888888888888887 + p * z;
    p = 0.041666666666666664 + p * z;
    return 1.0 - 0.5 * z + z * z * p;
}

//: ein_sin_f32
EIN_INLINE float ein_sin_f32(float x) {
    ein_quarter_f32(x, quadrant, r);
    const double y = quadrant & 1 ? ein_cos_part_f32(r) : ein_sin_part_f32(r);
    const float z = (float)(quadrant & 2 ? -y : y) + (x - x);
    return x == 0 ? x : z;
}

//: ein_cos_f32
EIN_INLINE float ein_cos_f32(float x) {
    ein_quarter_f32(x, quadrant, r);
    const double y = quadrant & 1 ? ein_sin_part_f32(r) : ein_cos_part_f32(r);
    return (float)((quadrant + 1) & 2 ? -y : y) + (x - x);
}

//: ein_tan_f32
EIN_INLINE float ein_tan_f32(float x) {
    ein_quarter_f32(x, quadrant, r);
    const double s = ein_sin_part_f32(r), c = ein_cos_part_f32(r);
    const float z = (float)(quadrant & 1 ? -c / s : s / c) + (x - x);
    return x == 0 ? x : z;
}

//: ein_sinh_f32
EIN_INLINE float ein_sinh_f32(float x) {
    const double t = ein_expm1_f64((double)__builtin_fabsf(x));
    const double y = t == __builtin_inf() ? t : 0.5 * (t + t / (t + 1.0));
    return __builtin_copysignf((float)y, x);
}

//: ein_cosh_f32
EIN_INLINE float ein_cosh_f32(float x) {
    const double e = ein_exp_f64((double)__builtin_fabsf(x));
    return (float)(0.5 * (e + 1.0 / e));
}

//: ein_asin_f32
EIN_INLINE float ein_asin_f32(float x) {
    return (float)ein_asin_f64(x);
}

//: ein_acos_f32
EIN_INLINE float ein_acos_f32(float x) {
    return (float)ein_acos_f64(x);
}

//: ein_atan_f32
EIN_INLINE float ein_atan_f32(float x) {
    return (float)ein_atan_f64(x);
}

//: ein_asinh_f32
EIN_INLINE float ein_asinh_f32(float x) {
    return (float)ein_asinh_f64(x);
}

//: ein_acosh_f32
EIN_INLINE float ein_acosh_f32(float x) {
    return (float)ein_acosh_f64(x);
}

//: ein_atanh_f32
EIN_INLINE float ein_atanh_f32(float x) {
    return (float)ein_atanh_f64(x);
}

//: ein_atan2_f32
EIN_INLINE float ein_atan2_f32(float y, float x) {
    return (float)ein_atan2_f64(y, x);
}

//: ein_pow_f32
EIN_INLINE float ein_pow_f32(float x, float y) {
    const double m = __builtin_fabsf(x), p = ein_exp_f64((double)y * ein_log_f64(m));
    const float half = 0.5f * y;
    const bool whole = y == __builtin_truncf(y), odd = whole && half != __builtin_truncf(half);
    return (float)ein_power_special(x, y, p, whole, odd);
}

//: ein_powi_f32
/* The exponent as a double, what that lacks, and whether it is odd. */
EIN_INLINE float ein_powi_f32(float x, double y, double rest, bool odd) {
    const double p = ein_exp_f64(y * ein_log_f64((double)__builtin_fabsf(x)));
    return (float)ein_power_special(x, y, p, true, odd);
}
