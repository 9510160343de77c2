/* Numbers of several bytes are read and written as they lie in memory. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this command needs a machine that stores the least significant byte first"
#endif

/* How the command ends: well, with a failure, or because it was used wrongly. */
enum { ein_good = 0, ein_failed = 2, ein_wrong_use = 3 };

/* The header of a .npy file has at most so many bytes. */
enum { ein_longest_header = 65536 };

static int ein_complain(const char *path, const char *what) {
    fprintf(stderr, "%s: %s: %s\n", ein_name, path, what);
    return ein_failed;
}

/* A shape as the format writes it. */
static void ein_write_shape(FILE *file, const ein_array *array) {
    fputc('(', file);
    for (int64_t axis = 0; axis < array->rank; axis++) {
        fprintf(file, axis > 0 ? ", %lld" : "%lld", (long long)array->shape[axis]);
    }
    fputs(array->rank == 1 ? ",)" : ")", file);
}

static const char *ein_skip_spaces(const char *text) {
    while (*text == ' ' || *text == '\t' || *text == '\n') text++;
    return text;
}

/* A text in quotes of either kind, copied without them; what follows it, or nothing. */
static const char *ein_quoted(const char *text, char *to, size_t room) {
    const char quote = *text++;
    size_t length = 0;
    if (quote != '\'' && quote != '"') return 0;
    while (text[length] != quote && text[length] != 0) length++;
    if (text[length] == 0 || length >= room) return 0;
    memcpy(to, text, length);
    to[length] = 0;
    return text + length + 1;
}

/* Compares a shape with that of an array; what follows it, or nothing if it is malformed. */
static const char *ein_compare_shape(const char *text, const ein_array *array, bool *same) {
    int64_t axis = 0;
    if (*text++ != '(') return 0;
    for (text = ein_skip_spaces(text); *text != ')'; axis++) {
        char *end;
        if (*text < '0' || *text > '9') return 0;
        const long long extent = strtoll(text, &end, 10);
        if (axis >= array->rank || extent != array->shape[axis]) *same = false;
        text = ein_skip_spaces(end);
        if (*text == ',') text = ein_skip_spaces(text + 1);
        else if (*text != ')') return 0;
    }
    if (axis != array->rank) *same = false;
    return text + 1;
}

/* What is wrong with a header for this array, or nothing. */
static const char *ein_check_header(const char *text, const ein_array *array) {
    static const char malformed[] = "its header is malformed";
    bool type = false, order = false, shape = false, same = true;
    text = ein_skip_spaces(text);
    if (*text++ != '{') return malformed;
    for (text = ein_skip_spaces(text); *text != '}';) {
        char key[32], value[32];
        text = ein_quoted(text, key, sizeof key);
        if (!text) return malformed;
        text = ein_skip_spaces(text);
        if (*text++ != ':') return malformed;
        text = ein_skip_spaces(text);
        if (strcmp(key, "descr") == 0) {
            text = ein_quoted(text, value, sizeof value);
            if (!text) return malformed;
            /* The order of the bytes of a single byte does not matter. */
            const bool single = array->type[0] == '|';
            if (strcmp(value + (single && *value), array->type + single) != 0) {
                return "its elements have another type";
            }
            type = true;
        } else if (strcmp(key, "fortran_order") == 0) {
            if (strncmp(text, "True", 4) == 0 && array->rank > 1) {
                return "it is in column-major (Fortran) order; save it in row-major order";
            }
            const bool yes = strncmp(text, "True", 4) == 0;
            if (!yes && strncmp(text, "False", 5) != 0) return malformed;
            text += yes ? 4 : 5;
            order = true;
        } else if (strcmp(key, "shape") == 0) {
            text = ein_compare_shape(text, array, &same);
            if (!text) return malformed;
            shape = true;
        } else {
            return malformed;
        }
        text = ein_skip_spaces(text);
        if (*text == ',') text = ein_skip_spaces(text + 1);
        else if (*text != '}') return malformed;
    }
    if (!type || !order || !shape) return malformed;
    return same ? 0 : "it has another shape";
}

/* Reads the elements of a file into memory; what is wrong, or nothing. */
static const char *ein_read(FILE *file, const ein_array *array, void *to) {
    static const char not_npy[] = "it is not a .npy file";
    static char header[ein_longest_header + 1];
    unsigned char start[12];
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0) return not_npy;
    size_t length = start[8] | (size_t)start[9] << 8;
    if (start[6] >= 2) {
        if (fread(start + 10, 1, 2, file) != 2) return not_npy;
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    if (start[6] < 1 || start[6] > 3 || length > ein_longest_header) return not_npy;
    if (fread(header, 1, length, file) != length) return "it ends early";
    header[length] = 0;
    const char *const wrong = ein_check_header(header, array);
    if (wrong) return wrong;
    if (fread(to, 1, (size_t)array->bytes, file) != (size_t)array->bytes) return "it ends early";
    return fgetc(file) == EOF ? 0 : "there is more in it than its header says";
}

static int ein_load(const char *path, const ein_array *array, void *to) {
    FILE *const file = fopen(path, "rb");
    if (!file) return ein_complain(path, "it cannot be opened");
    const char *const wrong = ein_read(file, array, to);
    fclose(file);
    if (!wrong) return ein_good;
    ein_complain(path, wrong);
    fprintf(stderr, "%s: `%s` has elements %s and shape ", ein_name, array->name, array->type);
    ein_write_shape(stderr, array);
    fputc('\n', stderr);
    return ein_failed;
}

static int ein_save(const char *folder, const ein_array *array, const void *from) {
    const size_t room = strlen(folder) + strlen(array->name) + 16;
    char *const path = malloc(room);
    if (!path) return ein_complain(array->name, "no memory");
    snprintf(path, room, "%s/%s.npy", folder, array->name);
    FILE *const file = fopen(path, "wb");
    if (!file) {
        const int failed = ein_complain(path, "it cannot be written");
        free(path);
        return failed;
    }
    /* The elements start at a multiple of 64 bytes: the header is written without its length, then
       padded, then the length is put in. */
    fwrite("\x93NUMPY\x01\x00\x00\x00", 1, 10, file);
    fprintf(file, "{'descr': '%s', 'fortran_order': False, 'shape': ", array->type);
    ein_write_shape(file, array);
    fputs(", }", file);
    long end = ftell(file);
    for (; (end + 1) % 64 != 0; end++) fputc(' ', file);
    fputc('\n', file);
    const unsigned length = (unsigned)(end + 1 - 10);
    const unsigned char bytes[2] = {(unsigned char)(length & 255), (unsigned char)(length >> 8)};
    fseek(file, 8, SEEK_SET);
    fwrite(bytes, 1, 2, file);
    fseek(file, 0, SEEK_END);
    fwrite(from, 1, (size_t)array->bytes, file);
    const bool failed = ferror(file) != 0;
    const int done = fclose(file) != 0 || failed ? ein_complain(path, "it cannot be written") : 0;
    free(path);
    return done;
}

static void ein_usage(FILE *file) {
    fprintf(file, "Usage: %s", ein_name);
    for (int i = 0; i < ein_input_count; i++) fprintf(file, " %s.npy", ein_input[i].name);
    fputs(" [-o DIR]\n\nReads\n", file);
    for (int i = 0; i < ein_input_count; i++) {
        fprintf(file, "  %s: %s ", ein_input[i].name, ein_input[i].type);
        ein_write_shape(file, &ein_input[i]);
        fputc('\n', file);
    }
    fputs("and writes, into the current directory or DIR,\n", file);
    for (int i = 0; i < ein_output_count; i++) {
        fprintf(file, "  %s.npy: %s ", ein_output[i].name, ein_output[i].type);
        ein_write_shape(file, &ein_output[i]);
        fputc('\n', file);
    }
}

int main(int count, char **arguments) {
    const char *paths[ein_input_count + 1], *folder = ".";
    void *input[ein_input_count + 1], *output[ein_output_count + 1];
    int given = 0;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--help") == 0 || strcmp(arguments[i], "-h") == 0) {
            ein_usage(stdout);
            return ein_good;
        }
        if (strcmp(arguments[i], "-o") == 0) {
            if (++i == count) return ein_usage(stderr), ein_wrong_use;
            folder = arguments[i];
        } else if (given == ein_input_count) {
            return ein_usage(stderr), ein_wrong_use;
        } else {
            paths[given++] = arguments[i];
        }
    }
    if (given != ein_input_count) return ein_usage(stderr), ein_wrong_use;
    for (int i = 0; i < ein_input_count; i++) {
        input[i] = malloc(ein_input[i].bytes > 0 ? (size_t)ein_input[i].bytes : 1);
        if (!input[i]) return ein_complain(ein_input[i].name, "no memory");
        const int wrong = ein_load(paths[i], &ein_input[i], input[i]);
        if (wrong) return wrong;
    }
    for (int i = 0; i < ein_output_count; i++) {
        output[i] = calloc(1, ein_output[i].bytes > 0 ? (size_t)ein_output[i].bytes : 1);
        if (!output[i]) return ein_complain(ein_output[i].name, "no memory");
    }
    const int result = ein_call(input, output);
    if (result == 2) return ein_complain(ein_name, "no memory for intermediate results");
    if (result != 0) {
        return ein_complain(ein_name, "a check failed: an index out of bounds, an overflow or a "
                                      "division by zero");
    }
    for (int i = 0; i < ein_output_count; i++) {
        const int wrong = ein_save(folder, &ein_output[i], output[i]);
        if (wrong) return wrong;
    }
    for (int i = 0; i < ein_input_count; i++) free(input[i]);
    for (int i = 0; i < ein_output_count; i++) free(output[i]);
    return ein_good;
}
