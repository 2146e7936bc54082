/* FMI 2.0 for model exchange and co-simulation, around `fmu_instance.h`. */
#include "fmu_instance.h"

#ifdef _WIN32
#define FMI __declspec(dllexport)
#else
#define FMI __attribute__((visibility("default")))
#endif

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef const unsigned *References;
typedef void (*Logger)(void *environment, const char *instance, fmi2Status status, const char *category,
                       const char *message, ...);

typedef struct {
    Logger logger;
    void *(*allocate)(size_t, size_t);
    void (*free)(void *);
    void (*finished)(void *, fmi2Status);
    void *environment;
} Callbacks;

typedef struct {
    int again, terminate, nominals, states, event;
    double time;
} EventInfo;

static fmi2Status failed(Instance *s, const char *message)
{
    Logger logger;
    memcpy(&logger, &s->logger, sizeof logger);
    if (logger) {
        logger(s->environment, "", fmi2Error, "logStatusError", message);
    }
    return fmi2Error;
}

FMI const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

FMI const char *fmi2GetVersion(void)
{
    return "2.0";
}

FMI fmi2Status fmi2SetDebugLogging(void *s, int on, size_t count, const char *const categories[])
{
    (void)s, (void)on, (void)count, (void)categories;
    return fmi2OK;
}

FMI void *fmi2Instantiate(const char *name, int kind, const char *token, const char *path, const Callbacks *callbacks,
                          int visible, int logging)
{
    Instance *s = NULL;
    (void)name, (void)kind, (void)path, (void)visible, (void)logging;
    if (token && strcmp(token, MODEL_TOKEN) == 0 && (s = calloc(1, sizeof *s)) != NULL) {
        reset(s);
        if (callbacks) {
            s->environment = callbacks->environment;
            memcpy(&s->logger, &callbacks->logger, sizeof callbacks->logger);
        }
    }
    return s;
}

FMI void fmi2FreeInstance(void *s)
{
    free(s);
}

FMI fmi2Status fmi2SetupExperiment(void *instance, int given, double tolerance, double start, int stops, double stop)
{
    Instance *s = instance;
    (void)stops, (void)stop;
    if (given && tolerance > 0.0) {
        s->tolerance = tolerance;
    }
    s->values[0] = start;
    s->step = 0.0;
    s->error = FIRST_ERROR;
    return fmi2OK;
}

FMI fmi2Status fmi2Reset(void *s)
{
    reset(s);
    return fmi2OK;
}

#define NOTHING_TO_DO(name) FMI fmi2Status name(void *s) { (void)s; return fmi2OK; }
NOTHING_TO_DO(fmi2EnterInitializationMode)
NOTHING_TO_DO(fmi2ExitInitializationMode)
NOTHING_TO_DO(fmi2Terminate)
NOTHING_TO_DO(fmi2EnterEventMode)
NOTHING_TO_DO(fmi2EnterContinuousTimeMode)
NOTHING_TO_DO(fmi2CancelStep)

FMI fmi2Status fmi2GetReal(void *s, References r, size_t count, double values[])
{
    return get_values(s, r, count, values) ? fmi2OK : failed(s, "fmi2GetReal: no such variable");
}

FMI fmi2Status fmi2SetReal(void *s, References r, size_t count, const double values[])
{
    return set_values(s, r, count, values)
        ? fmi2OK : failed(s, "fmi2SetReal: only states, torques and parameters can be set");
}

/* There are no variables of other types. */
#define ABSENT(name, type) \
    FMI fmi2Status fmi2Get##name(void *s, References r, size_t count, type values[]) \
    { (void)r, (void)values; return count ? failed(s, "no variable has this type") : fmi2OK; } \
    FMI fmi2Status fmi2Set##name(void *s, References r, size_t count, const type values[]) \
    { (void)r, (void)values; return count ? failed(s, "no variable has this type") : fmi2OK; }
typedef const char *Text;
ABSENT(Integer, int)
ABSENT(Boolean, int)
ABSENT(String, Text)

#define UNSUPPORTED(name) FMI fmi2Status name(void *s) { return failed(s, #name " is not supported by this model"); }
UNSUPPORTED(fmi2GetDirectionalDerivative)
UNSUPPORTED(fmi2SetRealInputDerivatives)
UNSUPPORTED(fmi2GetRealOutputDerivatives)
UNSUPPORTED(fmi2GetStatus)
UNSUPPORTED(fmi2GetRealStatus)
UNSUPPORTED(fmi2GetIntegerStatus)
UNSUPPORTED(fmi2GetBooleanStatus)
UNSUPPORTED(fmi2GetStringStatus)

/* ------------------------------------------------------------------------------------------- saved and restored */

FMI fmi2Status fmi2GetFMUstate(void *s, void **state)
{
    if (!*state && !(*state = malloc(sizeof(Instance)))) {
        return failed(s, "out of memory");
    }
    memcpy(*state, s, sizeof(Instance));
    return fmi2OK;
}

FMI fmi2Status fmi2SetFMUstate(void *instance, void *state)
{
    Instance *s = instance, kept = *s;
    memcpy(s, state, sizeof(Instance));
    s->environment = kept.environment;
    s->logger = kept.logger;
    return fmi2OK;
}

FMI fmi2Status fmi2FreeFMUstate(void *s, void **state)
{
    (void)s;
    free(*state);
    *state = NULL;
    return fmi2OK;
}

FMI fmi2Status fmi2SerializedFMUstateSize(void *s, void *state, size_t *size)
{
    (void)s, (void)state;
    *size = sizeof(Instance);
    return fmi2OK;
}

FMI fmi2Status fmi2SerializeFMUstate(void *s, void *state, char bytes[], size_t size)
{
    if (size < sizeof(Instance)) {
        return failed(s, "fmi2SerializeFMUstate: too few bytes");
    }
    memcpy(bytes, state, sizeof(Instance));
    return fmi2OK;
}

FMI fmi2Status fmi2DeSerializeFMUstate(void *s, const char bytes[], size_t size, void **state)
{
    if (size != sizeof(Instance)) {
        return failed(s, "fmi2DeSerializeFMUstate: these bytes are not of this model");
    }
    if (!*state && !(*state = malloc(sizeof(Instance)))) {
        return failed(s, "out of memory");
    }
    memcpy(*state, bytes, sizeof(Instance));
    return fmi2OK;
}

/* ------------------------------------------------------------------------------------------------ model exchange */

FMI fmi2Status fmi2NewDiscreteStates(void *s, EventInfo *info)
{
    (void)s;
    memset(info, 0, sizeof *info);
    return fmi2OK;
}

FMI fmi2Status fmi2CompletedIntegratorStep(void *s, int no_return, int *event, int *terminate)
{
    (void)s, (void)no_return;
    *event = *terminate = 0;
    return fmi2OK;
}

FMI fmi2Status fmi2SetTime(void *s, double time)
{
    ((Instance *)s)->values[0] = time;
    return fmi2OK;
}

FMI fmi2Status fmi2GetEventIndicators(void *s, double indicators[], size_t count)
{
    (void)indicators;
    return count ? failed(s, "there are no event indicators") : fmi2OK;
}

FMI fmi2Status fmi2GetContinuousStates(void *s, double states[], size_t count)
{
    if (count != N_STATES) {
        return failed(s, "fmi2GetContinuousStates: wrong number of states");
    }
    memcpy(states, ((Instance *)s)->values + Q, N_STATES * sizeof(double));
    return fmi2OK;
}

FMI fmi2Status fmi2SetContinuousStates(void *s, const double states[], size_t count)
{
    if (count != N_STATES) {
        return failed(s, "fmi2SetContinuousStates: wrong number of states");
    }
    memcpy(((Instance *)s)->values + Q, states, N_STATES * sizeof(double));
    ((Instance *)s)->stale = 1;
    return fmi2OK;
}

FMI fmi2Status fmi2GetDerivatives(void *s, double derivatives[], size_t count)
{
    if (count != N_STATES) {
        return failed(s, "fmi2GetDerivatives: wrong number of states");
    }
    get_derivatives(s, derivatives);
    return fmi2OK;
}

FMI fmi2Status fmi2GetNominalsOfContinuousStates(void *s, double nominals[], size_t count)
{
    if (count != N_STATES) {
        return failed(s, "fmi2GetNominalsOfContinuousStates: wrong number of states");
    }
    memcpy(nominals, nominal_states, N_STATES * sizeof(double));
    return fmi2OK;
}

/* ---------------------------------------------------------------------------------------------------- co-simulation */

FMI fmi2Status fmi2DoStep(void *instance, double time, double step, int no_return)
{
    Instance *s = instance;
    (void)no_return;
    s->values[0] = time;
    return integrate(s, time + step) ? fmi2OK : failed(s,
        "fmi2DoStep: the integrator could not go on; the motion may be unbounded or the arm too stiff for an explicit "
        "method: use shorter steps, or model exchange with an implicit solver");
}
