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

static void say(const Instance *s, fmi2Status status, const char *category, const char *message)
{
    Logger logger;
    memcpy(&logger, &s->logger, sizeof logger);
    if (logger) {
        logger(s->environment, "", status, category, message);
    }
}

static fmi2Status failed(const Instance *s, const char *message)
{
    say(s, fmi2Error, "logStatusError", message);
    return fmi2Error;
}

/* A joint has left limit number `limit`. */
static fmi2Status at_limit(const Instance *s, fmi2Status status, int limit)
{
    char text[400];
    say(s, status, "logStatusDiscard", limit_message(text, sizeof text, limit, s->state.values[0]));
    return status;
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
        reset(&s->state);
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

FMI fmi2Status fmi2SetupExperiment(void *instance, int defined, double tolerance, double time, int stops, double stop)
{
    State *s = instance;
    (void)stops, (void)stop;
    if (defined && tolerance > 0.0) {
        s->tolerance = tolerance;
    }
    start(s, time);
    return fmi2OK;
}

FMI fmi2Status fmi2Reset(void *s)
{
    reset(s);
    return fmi2OK;
}

#define NOTHING_TO_DO(name) FMI fmi2Status name(void *s) { (void)s; return fmi2OK; }
NOTHING_TO_DO(fmi2EnterInitializationMode)
NOTHING_TO_DO(fmi2Terminate)
NOTHING_TO_DO(fmi2EnterEventMode)
NOTHING_TO_DO(fmi2EnterContinuousTimeMode)
NOTHING_TO_DO(fmi2CancelStep)

FMI fmi2Status fmi2ExitInitializationMode(void *s)
{
    return begin(s) ? fmi2OK : failed(s, "fmi2ExitInitializationMode: " CANNOT_CLOSE);
}

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
UNSUPPORTED(fmi2SetRealInputDerivatives)
UNSUPPORTED(fmi2GetRealOutputDerivatives)
UNSUPPORTED(fmi2GetIntegerStatus)
UNSUPPORTED(fmi2GetStringStatus)

FMI fmi2Status fmi2GetDirectionalDerivative(void *s, References unknowns, size_t n_unknowns, References knowns,
                                            size_t n_knowns, const double seed[], double sensitivity[])
{
    return directional(s, unknowns, n_unknowns, knowns, n_knowns, seed, sensitivity)
        ? fmi2OK : failed(s, "fmi2GetDirectionalDerivative: known are states, torques, parameters and time");
}

/* ------------------------------------------------------------------------------------------- saved and restored */

FMI fmi2Status fmi2GetFMUstate(void *s, void **state)
{
    return save(s, state) ? fmi2OK : failed(s, "out of memory");
}

FMI fmi2Status fmi2SetFMUstate(void *s, void *state)
{
    memcpy(s, state, sizeof(State));
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
    *size = SERIALIZED;
    return fmi2OK;
}

FMI fmi2Status fmi2SerializeFMUstate(void *s, void *state, char bytes[], size_t size)
{
    return serialize(state, bytes, size) ? fmi2OK : failed(s, "fmi2SerializeFMUstate: too few bytes");
}

FMI fmi2Status fmi2DeSerializeFMUstate(void *s, const char bytes[], size_t size, void **state)
{
    return deserialize(bytes, size, state)
        ? fmi2OK : failed(s, "fmi2DeSerializeFMUstate: these bytes are not a state of this model");
}

/* ------------------------------------------------------------------------------------------------ model exchange */

FMI fmi2Status fmi2NewDiscreteStates(void *s, EventInfo *info)
{
    const int limit = left(((State *)s)->values + Q, AT_A_LIMIT);
    memset(info, 0, sizeof *info);
    if (drifted(s)) {
        info->states = 1;
        if (!settle(s)) {
            return failed(s, "fmi2NewDiscreteStates: " CANNOT_CLOSE);
        }
    }
    if (limit) {
        info->terminate = 1;
        at_limit(s, fmi2OK, limit);
    }
    return fmi2OK;
}

FMI fmi2Status fmi2CompletedIntegratorStep(void *s, int no_return, int *event, int *terminate)
{
    (void)no_return;
    *event = left(((State *)s)->values + Q, 0.0) != 0 || drifted(s);
    *terminate = 0;
    return fmi2OK;
}

FMI fmi2Status fmi2SetTime(void *s, double time)
{
    ((State *)s)->values[0] = time;
    return fmi2OK;
}

FMI fmi2Status fmi2GetEventIndicators(void *s, double indicators[], size_t count)
{
    if (count != N_LIMITS) {
        return failed(s, "fmi2GetEventIndicators: wrong number of indicators");
    }
    get_distances(s, indicators);
    return fmi2OK;
}

FMI fmi2Status fmi2GetContinuousStates(void *s, double states[], size_t count)
{
    if (count != N_STATES) {
        return failed(s, "fmi2GetContinuousStates: wrong number of states");
    }
    memcpy(states, ((State *)s)->values + Q, N_STATES * sizeof(double));
    return fmi2OK;
}

FMI fmi2Status fmi2SetContinuousStates(void *s, const double states[], size_t count)
{
    if (count != N_STATES) {
        return failed(s, "fmi2SetContinuousStates: wrong number of states");
    }
    set_states(s, states);
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

FMI fmi2Status fmi2DoStep(void *s, double time, double step, int no_return)
{
    const int ended = do_step(s, time, step);
    (void)no_return;
    if (ended == STOPPED) {
        return at_limit(s, fmi2Discard, ((State *)s)->stopped);
    }
    return ended == DONE ? fmi2OK : failed(s, "fmi2DoStep: " CANNOT_GO_ON);
}

/* After a step that was ended: how it ended, up to where it is right, and that the run is over. */
enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated };

FMI fmi2Status fmi2GetStatus(void *s, int kind, fmi2Status *value)
{
    *value = ((State *)s)->stopped ? fmi2Discard : fmi2OK;
    return kind == fmi2DoStepStatus ? fmi2OK : fmi2Discard;
}

FMI fmi2Status fmi2GetRealStatus(void *s, int kind, double *value)
{
    *value = ((State *)s)->values[0];
    return kind == fmi2LastSuccessfulTime ? fmi2OK : fmi2Discard;
}

FMI fmi2Status fmi2GetBooleanStatus(void *s, int kind, int *value)
{
    *value = ((State *)s)->stopped != 0;
    return kind == fmi2Terminated ? fmi2OK : fmi2Discard;
}
