/* FMI 2.0 for model exchange and co-simulation, around `fmu_instance.h`. */
#include "fmu_instance.h"

#ifdef _WIN32
#define FMI __declspec(dllexport)
#else
#define FMI __attribute__((visibility("default")))
#endif

typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
enum { fmi2ModelExchange, fmi2CoSimulation };
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

/* A call in a mode in which the standard does not allow it. */
static fmi2Status early_or_late(const Instance *s, const char *call)
{
    char text[200];
    return failed(s, out_of_order(text, sizeof text, call, s->state.mode));
}

#define ALLOW(s, modes, call) \
    if (!(((const State *)(s))->mode & (modes))) { \
        return early_or_late(s, call); \
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
    (void)name, (void)path, (void)visible, (void)logging;
    if (token && strcmp(token, MODEL_TOKEN) == 0 && (s = calloc(1, sizeof *s)) != NULL) {
        reset(&s->state);
        s->events = s->exchange = kind == fmi2ModelExchange;
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
    const char *fault;
    ALLOW(instance, INSTANTIATED, "fmi2SetupExperiment")
    fault = set_times(s, time, stops, stop);
    if (fault) {
        return failed(instance, fault);
    }
    if (defined && tolerance > 0.0) {
        s->tolerance = tolerance;
    }
    return fmi2OK;
}

FMI fmi2Status fmi2Reset(void *s)
{
    reset(s);
    return fmi2OK;
}

#define NOTHING_TO_DO(name) FMI fmi2Status name(void *s) { (void)s; return fmi2OK; }
NOTHING_TO_DO(fmi2CancelStep)

/* Calls that do nothing but change the mode. */
#define MOVE(name, from, to) \
    FMI fmi2Status name(void *s) { ALLOW(s, from, #name) ((State *)s)->mode = to; return fmi2OK; }
MOVE(fmi2EnterInitializationMode, INSTANTIATED, INITIALIZATION)
MOVE(fmi2EnterEventMode, READY, EVENT)
MOVE(fmi2EnterContinuousTimeMode, EVENT, RUNNING)
MOVE(fmi2Terminate, READY, TERMINATED)

FMI fmi2Status fmi2ExitInitializationMode(void *s)
{
    ALLOW(s, INITIALIZATION, "fmi2ExitInitializationMode")
    if (!begin(s)) {
        return failed(s, "fmi2ExitInitializationMode: " CANNOT_CLOSE);
    }
    ((State *)s)->mode = ((Instance *)s)->events ? EVENT : RUNNING;
    return fmi2OK;
}

FMI fmi2Status fmi2GetReal(void *s, References r, size_t count, double values[])
{
    ALLOW(s, KNOWN, "fmi2GetReal")
    return get_values(s, r, count, values) ? fmi2OK : failed(s, "fmi2GetReal: no such variable");
}

FMI fmi2Status fmi2SetReal(void *s, References r, size_t count, const double values[])
{
    ALLOW(s, ~TERMINATED, "fmi2SetReal")
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
    ALLOW(s, KNOWN, "fmi2GetDirectionalDerivative")
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
    ALLOW(s, EVENT, "fmi2NewDiscreteStates")
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
    ALLOW(s, READY, "fmi2CompletedIntegratorStep")
    (void)no_return;
    *event = left(((State *)s)->values + Q, 0.0) != 0 || drifted(s);
    *terminate = 0;
    return fmi2OK;
}

FMI fmi2Status fmi2SetTime(void *s, double time)
{
    ALLOW(s, READY, "fmi2SetTime")
    if (!(fabs(time) <= DBL_MAX)) {
        return failed(s, "fmi2SetTime: the time is not finite");
    }
    ((State *)s)->values[0] = time;
    return fmi2OK;
}

FMI fmi2Status fmi2GetEventIndicators(void *s, double indicators[], size_t count)
{
    ALLOW(s, KNOWN, "fmi2GetEventIndicators")
    if (count != N_LIMITS) {
        return failed(s, "fmi2GetEventIndicators: wrong number of indicators");
    }
    get_distances(s, indicators);
    return fmi2OK;
}

FMI fmi2Status fmi2GetContinuousStates(void *s, double states[], size_t count)
{
    ALLOW(s, KNOWN, "fmi2GetContinuousStates")
    if (count != N_STATES) {
        return failed(s, "fmi2GetContinuousStates: wrong number of states");
    }
    memcpy(states, ((State *)s)->values + Q, N_STATES * sizeof(double));
    return fmi2OK;
}

FMI fmi2Status fmi2SetContinuousStates(void *s, const double states[], size_t count)
{
    ALLOW(s, READY, "fmi2SetContinuousStates")
    if (count != N_STATES) {
        return failed(s, "fmi2SetContinuousStates: wrong number of states");
    }
    set_states(s, states);
    return fmi2OK;
}

FMI fmi2Status fmi2GetDerivatives(void *s, double derivatives[], size_t count)
{
    ALLOW(s, KNOWN, "fmi2GetDerivatives")
    if (count != N_STATES) {
        return failed(s, "fmi2GetDerivatives: wrong number of states");
    }
    get_derivatives(s, derivatives);
    return fmi2OK;
}

FMI fmi2Status fmi2GetNominalsOfContinuousStates(void *s, double nominals[], size_t count)
{
    ALLOW(s, KNOWN, "fmi2GetNominalsOfContinuousStates")
    if (count != N_STATES) {
        return failed(s, "fmi2GetNominalsOfContinuousStates: wrong number of states");
    }
    memcpy(nominals, nominal_states, N_STATES * sizeof(double));
    return fmi2OK;
}

/* ---------------------------------------------------------------------------------------------------- co-simulation */

FMI fmi2Status fmi2DoStep(void *s, double time, double step, int no_return)
{
    const char *fault;
    int ended;
    (void)no_return;
    ALLOW(s, RUNNING, "fmi2DoStep")
    fault = step_fault(s, time, step);
    if (fault) {
        return failed(s, fault);
    }
    ended = do_step(s, time, step);
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
