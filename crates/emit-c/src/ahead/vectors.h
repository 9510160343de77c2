/* The bytes of a vector register, for matrix products. */
#if defined(__AVX512F__)
#define EIN_VECTOR 64
#elif defined(__AVX__)
#define EIN_VECTOR 32
#else
#define EIN_VECTOR 16
#endif

/* A product is computed in blocks of this extent along k, along m and along n, and in tiles of this
   many rows. */
enum { EIN_DEPTH = 192, EIN_HEIGHT = 72, EIN_WIDTH = 192, EIN_ROWS = 6 };
