/* Calls a function that was written in Einlang. README.md says how this is built. */

#include "classify.h"

#include <stdio.h>

int main(void) {
    static const float points[3][2] = {{1.0f, 2.0f}, {-1.0f, 0.5f}, {0.0f, -2.0f}};
    static const float weights[2][2] = {{0.5f, -0.25f}, {1.0f, 0.75f}};
    static const float bias[2] = {0.1f, -0.1f};
    float probability[3][2], loss;

    const int failed = classify(&points[0][0], &weights[0][0], bias, &probability[0][0], &loss);
    if (failed) {
        fprintf(stderr, "classify failed: %d\n", failed);
        return 1;
    }
    for (int p = 0; p < 3; p++) {
        printf("point %d: %.5f %.5f\n", p, probability[p][0], probability[p][1]);
    }
    printf("loss: %.5f\n", loss);
    return 0;
}
