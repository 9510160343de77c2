/* Products of matrices of any strides: blocks of both factors are packed, and each tile of the
   result is computed in registers. */
typedef REAL ein_lanes_SUFFIX
    __attribute__((vector_size(EIN_VECTOR), aligned(sizeof(REAL)), may_alias));

enum { EIN_LANES_SUFFIX = EIN_VECTOR / sizeof(REAL), EIN_COLS_SUFFIX = 2 * EIN_LANES_SUFFIX };

/* Columns of a, rows of b; both packed. */
static void ein_tile_SUFFIX(int64_t k, const REAL *a, const REAL *b, REAL *tile) {
    ein_lanes_SUFFIX sum[EIN_ROWS][2];
    memset(sum, 0, sizeof sum);
    for (int64_t p = 0; p < k; p++) {
        const ein_lanes_SUFFIX left = *(const ein_lanes_SUFFIX *)(b + p * EIN_COLS_SUFFIX);
        const ein_lanes_SUFFIX right =
            *(const ein_lanes_SUFFIX *)(b + p * EIN_COLS_SUFFIX + EIN_LANES_SUFFIX);
#pragma GCC unroll 6
        for (int i = 0; i < EIN_ROWS; i++) {
            const REAL x = a[p * EIN_ROWS + i];
            sum[i][0] += x * left;
            sum[i][1] += x * right;
        }
    }
    memcpy(tile, sum, sizeof sum);
}

/* A strip of `width` vectors of length k, `count` of them at a time, zeros where there are none. */
static void ein_pack_SUFFIX(const REAL *from, int64_t along, int64_t across, int64_t k,
                            int64_t width, int64_t count, REAL *to) {
    for (int64_t start = 0; start < width; start += count) {
        const int64_t there = width - start < count ? width - start : count;
        for (int64_t p = 0; p < k; p++) {
            const REAL *const row = from + p * along + start * across;
            for (int64_t i = 0; i < there; i++) to[i] = row[i * across];
            for (int64_t i = there; i < count; i++) to[i] = 0;
            to += count;
        }
    }
}

static void ein_blocks_SUFFIX(const ein_gemm *g, const REAL *a, const REAL *b, REAL *c, int64_t m) {
    REAL tall[EIN_HEIGHT * EIN_DEPTH] __attribute__((aligned(64)));
    REAL wide[EIN_DEPTH * EIN_WIDTH] __attribute__((aligned(64)));
    REAL tile[EIN_ROWS * EIN_COLS_SUFFIX] __attribute__((aligned(64)));
    for (int64_t j = 0; j < g->n; j += EIN_WIDTH) {
        const int64_t nj = g->n - j < EIN_WIDTH ? g->n - j : EIN_WIDTH;
        for (int64_t p = 0; p < g->k; p += EIN_DEPTH) {
            const int64_t np = g->k - p < EIN_DEPTH ? g->k - p : EIN_DEPTH;
            ein_pack_SUFFIX(b + p * g->b_rows + j * g->b_cols, g->b_rows, g->b_cols, np, nj,
                            EIN_COLS_SUFFIX, wide);
            for (int64_t i = 0; i < m; i += EIN_HEIGHT) {
                const int64_t ni = m - i < EIN_HEIGHT ? m - i : EIN_HEIGHT;
                ein_pack_SUFFIX(a + i * g->a_rows + p * g->a_cols, g->a_cols, g->a_rows, np, ni,
                                EIN_ROWS, tall);
                for (int64_t y = 0; y < nj; y += EIN_COLS_SUFFIX) {
                    const int64_t ny = nj - y < EIN_COLS_SUFFIX ? nj - y : EIN_COLS_SUFFIX;
                    for (int64_t x = 0; x < ni; x += EIN_ROWS) {
                        const int64_t nx = ni - x < EIN_ROWS ? ni - x : EIN_ROWS;
                        ein_tile_SUFFIX(np, tall + x * np, wide + y * np, tile);
                        REAL *const at = c + (i + x) * g->c_rows + (j + y) * g->c_cols;
                        for (int64_t u = 0; u < nx; u++) {
                            for (int64_t v = 0; v < ny; v++) {
                                at[u * g->c_rows + v * g->c_cols] += tile[u * EIN_COLS_SUFFIX + v];
                            }
                        }
                    }
                }
            }
        }
    }
}

/* Without packing: for vectors and small matrices. */
static void ein_plain_SUFFIX(const ein_gemm *g, const REAL *a, const REAL *b, REAL *c, int64_t m) {
    for (int64_t i = 0; i < m; i++, a += g->a_rows, c += g->c_rows) {
        if (g->b_cols == 1 && g->c_cols == 1) {
            for (int64_t p = 0; p < g->k; p++) {
                const REAL x = a[p * g->a_cols];
                const REAL *const row = b + p * g->b_rows;
                for (int64_t j = 0; j < g->n; j++) c[j] += x * row[j];
            }
        } else {
            for (int64_t j = 0; j < g->n; j++) {
                const REAL *const column = b + j * g->b_cols;
                REAL sum = 0;
                if (g->a_cols == 1 && g->b_rows == 1) {
#pragma omp simd reduction(+ : sum)
                    for (int64_t p = 0; p < g->k; p++) sum += a[p] * column[p];
                } else {
                    for (int64_t p = 0; p < g->k; p++) {
                        sum += a[p * g->a_cols] * column[p * g->b_rows];
                    }
                }
                c[j * g->c_cols] += sum;
            }
        }
    }
}

/* The rows lo..hi of a product. */
static uint32_t ein_product_SUFFIX(const void *captured, int64_t lo, int64_t hi) {
    const ein_gemm *const g = captured;
    const REAL *const a = (const REAL *)g->a + lo * g->a_rows, *const b = g->b;
    REAL *const c = (REAL *)g->c + lo * g->c_rows;
    if (!g->accumulate) {
        for (int64_t i = 0; i < hi - lo; i++) {
            for (int64_t j = 0; j < g->n; j++) c[i * g->c_rows + j * g->c_cols] = 0;
        }
    }
    const bool small = g->n < 4 || hi - lo < 3 || g->k < 4 || (hi - lo) * g->n < 64;
    if (small) {
        ein_plain_SUFFIX(g, a, b, c, hi - lo);
    } else {
        ein_blocks_SUFFIX(g, a, b, c, hi - lo);
    }
    return 0;
}

static void ein_gemm_SUFFIX(const void *context, const ein_gemm *args) {
    if (args->m <= 0 || args->n <= 0) return;
    const int64_t work = args->n * (args->k > 0 ? args->k : 1);
    const int64_t grain = work > 8192 ? 64 : 524288 / work;
    if (args->parallel) {
        (void)ein_parallel(context, ein_product_SUFFIX, args, 0, args->m, grain);
    } else {
        (void)ein_product_SUFFIX(args, 0, args->m);
    }
}
