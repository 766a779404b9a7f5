/* A stand-in for NVIDIA's libnvidia-ml.so.1, as far as the guest's agent asks it.

   Built by tests/guest/conftest.py with the system's compiler, found by the real nvidia-ml-py through LD_LIBRARY_PATH. It reads its answers from the
   file that FAKE_NVML names, and again whenever that file changes (which the tests replace by a rename): lines "key=value", "gpu.N.key=value" for
   card N, "gpu.N.mig.M.key=value" for its MIG devices. A missing key is "not supported", a value "!15" is that error. "poison" is the utilisation of
   the first so many milliseconds after nvmlInit: "poison=100 800". Time that "busy" patterns need is given by the tests, not here, except for
   "gpu.N.burst=PERCENT ON_MS PERIOD_MS". Signatures and structures are those of nvml.h. */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT = 7, TIMEOUT = 10, NO_FUNCTION = 13 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *text;
static struct timespec stamp;
static int inits;
static double opened;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void reload(void) {
    const char *path = getenv("FAKE_NVML");
    struct stat info;
    if (!path || stat(path, &info)) return;
    if (text && info.st_mtim.tv_sec == stamp.tv_sec && info.st_mtim.tv_nsec == stamp.tv_nsec) return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    char *fresh = calloc(1, info.st_size + 2);
    fresh[0] = '\n';
    if (fread(fresh + 1, 1, info.st_size, file)) {}
    fclose(file);
    free(text);
    text = fresh;
    stamp = info.st_mtim;
}

/* The value of a key into out; 0 if there is none. */
static int get(const char *key, char *out, size_t size) {
    char needle[160];
    snprintf(needle, sizeof needle, "\n%s=", key);
    char *found = text ? strstr(text, needle) : NULL;
    if (!found) return 0;
    found += strlen(needle);
    size_t length = strcspn(found, "\n");
    if (length >= size) length = size - 1;
    memcpy(out, found, length);
    out[length] = 0;
    return 1;
}

/* A handle is the number of a card plus one, in the lowest bits; of a MIG device its own plus one above that. */
static int card_of(void *handle) { return ((int)(intptr_t)handle & 0xff) - 1; }
static int mig_of(void *handle) { return ((int)(intptr_t)handle >> 8) - 1; }
static void *handle_of(int card, int mig) { return (void *)(intptr_t)((card + 1) | ((mig + 1) << 8)); }

/* A key of a device; the error of its value, of "lost", or that there is none. */
static int ask(void *handle, const char *key, char *out, size_t size) {
    char name[128];
    pthread_mutex_lock(&lock);
    reload();
    int code = inits ? OK : UNINITIALIZED;
    if (!code && get("error", out, size)) code = atoi(out);
    snprintf(name, sizeof name, "gpu.%d.lost", card_of(handle));
    if (!code && get(name, out, size)) code = atoi(out);
    if (mig_of(handle) >= 0) snprintf(name, sizeof name, "gpu.%d.mig.%d.%s", card_of(handle), mig_of(handle), key);
    else snprintf(name, sizeof name, "gpu.%d.%s", card_of(handle), key);
    if (!code && !get(name, out, size)) code = NOT_SUPPORTED;
    if (!code && out[0] == '!') code = atoi(out + 1);
    if (!code && getenv("FAKE_NVML_HANG") && !access(getenv("FAKE_NVML_HANG"), F_OK)) {
        pthread_mutex_unlock(&lock);
        while (!access(getenv("FAKE_NVML_HANG"), F_OK)) usleep(10000);
        return code;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static int number(void *handle, const char *key, double *value) {
    char out[64];
    int code = ask(handle, key, out, sizeof out);
    if (!code) *value = atof(out);
    return code;
}

static int word(void *handle, const char *key, char *into, unsigned size) {
    char out[128];
    int code = ask(handle, key, out, sizeof out);
    if (!code) snprintf(into, size, "%s", out);
    return code;
}

int nvmlInitWithFlags(unsigned flags) {
    char out[64];
    (void)flags;
    pthread_mutex_lock(&lock);
    reload();
    int code = OK;
    if (get("init", out, sizeof out)) code = atoi(out);
    if (!code && !inits++) opened = now_ms();
    FILE *log = getenv("FAKE_NVML_LOG") ? fopen(getenv("FAKE_NVML_LOG"), "a") : NULL;
    if (log) { fprintf(log, "init %d\n", code); fclose(log); }
    pthread_mutex_unlock(&lock);
    return code;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void) {
    pthread_mutex_lock(&lock);
    int code = inits ? OK : UNINITIALIZED;
    if (inits) inits--;
    FILE *log = getenv("FAKE_NVML_LOG") ? fopen(getenv("FAKE_NVML_LOG"), "a") : NULL;
    if (log) { fprintf(log, "shutdown %d\n", code); fclose(log); }
    pthread_mutex_unlock(&lock);
    return code;
}

const char *nvmlErrorString(int code) { return code == 15 ? "GPU is lost" : "an error of the fake"; }

static int general(const char *key, char *out, size_t size) {
    pthread_mutex_lock(&lock);
    reload();
    char error[16];
    int code = inits ? OK : UNINITIALIZED;
    if (!code && get("error", error, sizeof error)) code = atoi(error);
    if (!code && !get(key, out, size)) code = NOT_SUPPORTED;
    pthread_mutex_unlock(&lock);
    return code;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) { return general("driver", version, length); }

int nvmlDeviceGetCount_v2(unsigned *count) {
    char out[16];
    int code = general("count", out, sizeof out);
    if (!code) *count = atoi(out);
    return code;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    char out[64];
    *handle = handle_of(index, -1);
    return ask(*handle, "uuid", out, sizeof out);
}

int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned length) { return word(handle, "uuid", uuid, length); }
int nvmlDeviceGetName(void *handle, char *name, unsigned length) { return word(handle, "name", name, length); }

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci_t;
int nvmlDeviceGetPciInfo_v3(void *handle, pci_t *pci) {
    memset(pci, 0, sizeof *pci);
    return word(handle, "pci", pci->bus_id, sizeof pci->bus_id);
}

int nvmlDeviceGetVirtualizationMode(void *handle, unsigned *mode) {
    double value;
    int code = number(handle, "virtual", &value);
    if (!code) *mode = value;
    return code;
}

int nvmlDeviceGetUtilizationRates(void *handle, unsigned rates[2]) {
    double value;
    char out[64];
    int code = number(handle, "util", &value), percent, on, period;
    if (code) return code;
    if (!ask(handle, "burst", out, sizeof out) && sscanf(out, "%d %d %d", &percent, &on, &period) == 3)
        value = (long)now_ms() % period < on ? percent : value;
    pthread_mutex_lock(&lock);
    if (get("poison", out, sizeof out) && sscanf(out, "%d %d", &percent, &on) == 2 && now_ms() - opened < on) value = percent;
    pthread_mutex_unlock(&lock);
    rates[0] = value;
    rates[1] = value / 2;
    return OK;
}

static int engine(void *handle, const char *key, unsigned *share, unsigned *period) {
    double value;
    int code = number(handle, key, &value);
    if (!code) *share = value, *period = 1000000;
    return code;
}
int nvmlDeviceGetEncoderUtilization(void *handle, unsigned *share, unsigned *period) { return engine(handle, "encoder", share, period); }
int nvmlDeviceGetDecoderUtilization(void *handle, unsigned *share, unsigned *period) { return engine(handle, "decoder", share, period); }

int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *mj) {
    double value;
    int code = number(handle, "energy_mj", &value);
    if (!code) *mj = value;
    return code;
}

int nvmlDeviceGetPowerUsage(void *handle, unsigned *mw) {
    double value;
    int code = number(handle, "power_mw", &value);
    if (!code) *mw = value;
    return code;
}

int nvmlDeviceGetPersistenceMode(void *handle, unsigned *mode) {
    double value;
    int code = number(handle, "persistence", &value);
    if (!code) *mode = value;
    return code;
}

static int pair(void *handle, const char *key, unsigned *current, unsigned *pending) {
    double value;
    int code = number(handle, key, &value);
    if (!code) *current = *pending = value;
    return code;
}
int nvmlDeviceGetEccMode(void *handle, unsigned *current, unsigned *pending) { return pair(handle, "ecc", current, pending); }
int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) { return pair(handle, "mig", current, pending); }

static int memory(void *handle, double *total, double *reserved, double *used) {
    int code = number(handle, "mem_total_mib", total);
    if (!code) code = number(handle, "mem_used_mib", used);
    if (!code && number(handle, "mem_reserved_mib", reserved)) *reserved = 0;
    return code;
}
typedef struct { unsigned long long total, free, used; } memory_t;
int nvmlDeviceGetMemoryInfo(void *handle, memory_t *m) {
    double total, reserved = 0, used;
    int code = memory(handle, &total, &reserved, &used);
    if (!code) m->total = total * 1048576, m->used = (used + reserved) * 1048576, m->free = m->total - m->used;
    return code;
}
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2_t;
int nvmlDeviceGetMemoryInfo_v2(void *handle, memory_v2_t *m) {
    double total, reserved = 0, used;
    char out[16];
    if (!general("old_driver", out, sizeof out)) return NO_FUNCTION;
    if (m->version != (sizeof(memory_v2_t) | (2u << 24))) return 25;
    int code = memory(handle, &total, &reserved, &used);
    if (!code) m->total = total * 1048576, m->reserved = reserved * 1048576, m->used = used * 1048576,
               m->free = m->total - m->used - m->reserved;
    return code;
}

/* "compute=4242:9000 4243:-" : pid and MiB ("-": not available), by spaces. */
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } process_t;
static int processes(void *handle, const char *key, unsigned *count, process_t *into) {
    char out[2048];
    int code = ask(handle, key, out, sizeof out);
    if (code) return code;
    unsigned room = *count, found = 0;
    for (char *save = NULL, *part = strtok_r(out, " ", &save); part; part = strtok_r(NULL, " ", &save), found++) {
        if (!into || found >= room) continue;
        char *mib = strchr(part, ':');
        into[found] = (process_t){atoi(part), mib && mib[1] != '-' ? strtoull(mib + 1, NULL, 10) * 1048576ull : ~0ull, ~0u, ~0u};
    }
    *count = found;
    return found > room || (found && !into) ? INSUFFICIENT : OK;
}
static int newer(void) {
    char out[16];
    return !general("old_driver", out, sizeof out) ? NO_FUNCTION : OK;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *n, process_t *into) { return newer() ? NO_FUNCTION : processes(h, "compute", n, into); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *h, unsigned *n, process_t *into) { return newer() ? NO_FUNCTION : processes(h, "graphics", n, into); }
int nvmlDeviceGetComputeRunningProcesses_v2(void *h, unsigned *n, process_t *into) { return processes(h, "compute", n, into); }
int nvmlDeviceGetGraphicsRunningProcesses_v2(void *h, unsigned *n, process_t *into) { return processes(h, "graphics", n, into); }

typedef struct { unsigned code, state; char info[128], product[128]; unsigned enabled; struct { uint32_t year; uint16_t parts[5]; uint8_t status; } expiry; } feature_t;
typedef struct { int supported; unsigned count; feature_t features[3]; } features_t;
int nvmlDeviceGetGridLicensableFeatures_v4(void *handle, features_t *f) {
    double licensed;
    int code = number(handle, "licensed", &licensed);
    if (code) return code;
    memset(f, 0, sizeof *f);
    f->supported = f->count = 1;
    f->features[0].state = f->features[0].enabled = licensed != 0;
    return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *count) {
    double mode;
    int code = number(handle, "mig", &mode);
    *count = code ? 0 : 7;
    return code;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **mig) {
    char out[64];
    *mig = handle_of(card_of(handle), index);
    int code = ask(*mig, "uuid", out, sizeof out);
    return code == NOT_SUPPORTED ? NOT_FOUND : code;
}
int nvmlDeviceGetGpuInstanceId(void *mig, unsigned *id) {
    if (mig_of(mig) < 0) return INVALID;
    *id = mig_of(mig) + 3; /* as on a card: not the index */
    return OK;
}

typedef struct { unsigned version, supported; } support_t;
int nvmlGpmQueryDeviceSupport(void *handle, support_t *support) {
    double value;
    int code = number(handle, "gpm", &value);
    if (!code) support->supported = value;
    return code;
}
typedef struct { int card, instance; double at; } sample_t;
int nvmlGpmSampleAlloc(sample_t **sample) { return (*sample = calloc(1, sizeof **sample)) ? OK : 20; }
int nvmlGpmSampleFree(sample_t *sample) { free(sample); return OK; }
int nvmlGpmMigSampleGet(void *handle, unsigned instance, sample_t *sample) {
    *sample = (sample_t){card_of(handle), instance, now_ms()};
    return OK;
}
typedef struct { unsigned id; int code; double value; char *names[3]; } metric_t;
typedef struct { unsigned version, count; sample_t *first, *second; metric_t metrics[]; } metrics_t;
int nvmlGpmMetricsGet(metrics_t *asked) {
    if (asked->version != 1 || asked->count != 1 || asked->metrics[0].id != 1) return INVALID;
    if (asked->first->at >= asked->second->at) return INVALID;
    asked->metrics[0].code = number(handle_of(asked->first->card, asked->first->instance - 3), "active", &asked->metrics[0].value);
    return OK;
}

/* "gpu.N.xid=79 1": an error, and a number that is another one for each time that it comes. */
static long told[8];
static int registered;
typedef struct { void *device; unsigned long long type, data; unsigned gi, ci; } event_t;
int nvmlEventSetCreate(void **set) { *set = &registered; return OK; }
int nvmlEventSetFree(void *set) { (void)set; return OK; }
int nvmlDeviceRegisterEvents(void *handle, unsigned long long types, void *set) {
    char out[16];
    (void)set;
    if (!general("no_events", out, sizeof out)) return NOT_SUPPORTED;
    registered |= types == 8 ? 1 << card_of(handle) : 0;
    return OK;
}
int nvmlEventSetWait_v2(void *set, event_t *event, unsigned timeout) {
    (void)set, (void)timeout;
    for (int card = 0; card < 8; card++) {
        char out[64];
        int code;
        long number;
        if (!(registered >> card & 1) || ask(handle_of(card, -1), "xid", out, sizeof out)) continue;
        if (sscanf(out, "%d %ld", &code, &number) != 2 || told[card] == number) continue;
        told[card] = number;
        *event = (event_t){handle_of(card, -1), 8, code, ~0u, ~0u};
        return OK;
    }
    return TIMEOUT;
}
