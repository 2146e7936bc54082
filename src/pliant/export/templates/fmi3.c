/* FMI 3.0 for model exchange and co-simulation, around `fmu_instance.h`. */
#define ADJOINTS /* FMI 2.0 has none */
#include "fmu_instance.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef _WIN32
#define FMI __declspec(dllexport)
#else
#define FMI __attribute__((visibility("default")))
#endif

typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef void (*Logger)(void *environment, fmi3Status status, const char *category, const char *message);
typedef const uint32_t *References;

static void say(const Instance *s, fmi3Status status, const char *category, const char *message)
{
    Logger logger;
    memcpy(&logger, &s->logger, sizeof logger);
    if (logger) {
        logger(s->environment, status, category, message);
    }
}

static fmi3Status failed(const Instance *s, const char *message)
{
    say(s, fmi3Error, "logStatusError", message);
    return fmi3Error;
}

/* A call in a mode in which the standard does not allow it. */
static fmi3Status early_or_late(const Instance *s, const char *call)
{
    char text[200];
    return failed(s, out_of_order(text, sizeof text, call, s->state.mode));
}

#define ALLOW(s, modes, call) \
    if (!(((const State *)(s))->mode & (modes))) { \
        return early_or_late(s, call); \
    }

/* A joint has left limit number `limit`. */
static fmi3Status at_limit(const Instance *s, fmi3Status status, int limit)
{
    char text[400];
    say(s, status, "logStatusDiscard", limit_message(text, sizeof text, limit, s->state.values[0]));
    return status;
}

static void *instantiate(const char *token, bool exchange, bool events, bool early, void *environment, Logger logger)
{
    Instance *s = NULL;
    if (token && strcmp(token, MODEL_TOKEN) == 0 && (s = calloc(1, sizeof *s)) != NULL) {
        reset(&s->state);
        s->exchange = exchange;
        s->events = exchange || events;
        s->early = early;
        s->environment = environment;
        memcpy(&s->logger, &logger, sizeof logger);
    } else if (logger) {
        logger(environment, fmi3Error, "logStatusError", "wrong instantiation token, or out of memory");
    }
    return s;
}

FMI const char *fmi3GetVersion(void)
{
    return "3.0";
}

FMI fmi3Status fmi3SetDebugLogging(void *s, bool on, size_t count, const char *const categories[])
{
    (void)s, (void)on, (void)count, (void)categories;
    return fmi3OK;
}

FMI void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *path, bool visible,
                                       bool logging, void *environment, Logger logger)
{
    (void)name, (void)path, (void)visible, (void)logging;
    return instantiate(token, true, true, false, environment, logger);
}

FMI void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *path, bool visible,
                                      bool logging, bool events, bool early, References required, size_t count,
                                      void *environment, Logger logger, void *update_callback)
{
    (void)name, (void)path, (void)visible, (void)logging, (void)required, (void)count;
    (void)update_callback;
    return instantiate(token, false, events, early, environment, logger);
}

FMI void *fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *path, bool visible,
                                            bool logging, void *environment, Logger logger, void *clock, void *lock,
                                            void *unlock)
{
    (void)name, (void)token, (void)path, (void)visible, (void)logging, (void)environment, (void)logger;
    (void)clock, (void)lock, (void)unlock;
    return NULL;
}

FMI void fmi3FreeInstance(void *s)
{
    free(s);
}

/* ------------------------------------------------------------------------------------------------ states of life */

FMI fmi3Status fmi3EnterInitializationMode(void *instance, bool defined, double tolerance, double time, bool stops,
                                           double stop)
{
    State *s = instance;
    const char *fault;
    ALLOW(instance, INSTANTIATED, "fmi3EnterInitializationMode")
    fault = set_times(s, time, stops, stop);
    if (fault) {
        return failed(instance, fault);
    }
    if (defined && tolerance > 0.0) {
        s->tolerance = tolerance;
    }
    s->mode = INITIALIZATION;
    return fmi3OK;
}

FMI fmi3Status fmi3Reset(void *instance)
{
    reset(instance);
    return fmi3OK;
}

#define NOTHING_TO_DO(name) FMI fmi3Status name(void *s) { (void)s; return fmi3OK; }
NOTHING_TO_DO(fmi3EnterConfigurationMode)
NOTHING_TO_DO(fmi3ExitConfigurationMode)
NOTHING_TO_DO(fmi3EvaluateDiscreteStates)

/* Calls that do nothing but change the mode. */
#define MOVE(name, from, to) \
    FMI fmi3Status name(void *s) { ALLOW(s, from, #name) ((State *)s)->mode = to; return fmi3OK; }
MOVE(fmi3EnterEventMode, READY, EVENT)
MOVE(fmi3EnterContinuousTimeMode, EVENT, RUNNING)
MOVE(fmi3EnterStepMode, EVENT, RUNNING)
MOVE(fmi3Terminate, READY, TERMINATED)

FMI fmi3Status fmi3ExitInitializationMode(void *s)
{
    ALLOW(s, INITIALIZATION, "fmi3ExitInitializationMode")
    if (!begin(s)) {
        return failed(s, "fmi3ExitInitializationMode: " CANNOT_CLOSE);
    }
    ((State *)s)->mode = ((Instance *)s)->events ? EVENT : RUNNING;
    return fmi3OK;
}

FMI fmi3Status fmi3UpdateDiscreteStates(void *s, bool *again, bool *terminate, bool *nominals, bool *states,
                                        bool *event, double *time)
{
    const int limit = left(((State *)s)->values + Q, AT_A_LIMIT);
    ALLOW(s, EVENT, "fmi3UpdateDiscreteStates")
    (void)time;
    *again = *terminate = *nominals = *states = *event = false;
    if (drifted(s)) {
        *states = true;
        if (!settle(s)) {
            return failed(s, "fmi3UpdateDiscreteStates: " CANNOT_CLOSE);
        }
    }
    if (limit) {
        *terminate = true;
        at_limit(s, fmi3OK, limit);
    }
    return fmi3OK;
}

/* ---------------------------------------------------------------------------------------------------- variables */

FMI fmi3Status fmi3GetFloat64(void *s, References r, size_t count, double values[], size_t size)
{
    ALLOW(s, KNOWN, "fmi3GetFloat64")
    return size == count && get_values(s, r, count, values) ? fmi3OK : failed(s, "fmi3GetFloat64: no such variable");
}

FMI fmi3Status fmi3SetFloat64(void *s, References r, size_t count, const double values[], size_t size)
{
    ALLOW(s, ~TERMINATED, "fmi3SetFloat64")
    return size == count && set_values(s, r, count, values)
        ? fmi3OK : failed(s, "fmi3SetFloat64: only states, torques and parameters can be set");
}

/* There are no variables of other types. */
#define ABSENT(name, type) \
    FMI fmi3Status fmi3Get##name(void *s, References r, size_t count, type values[], size_t size) \
    { (void)r, (void)values, (void)size; return count ? failed(s, "no variable has this type") : fmi3OK; } \
    FMI fmi3Status fmi3Set##name(void *s, References r, size_t count, const type values[], size_t size) \
    { (void)r, (void)values, (void)size; return count ? failed(s, "no variable has this type") : fmi3OK; }
ABSENT(Float32, float)
ABSENT(Int8, int8_t)
ABSENT(UInt8, uint8_t)
ABSENT(Int16, int16_t)
ABSENT(UInt16, uint16_t)
ABSENT(Int32, int32_t)
ABSENT(UInt32, uint32_t)
ABSENT(Int64, int64_t)
ABSENT(UInt64, uint64_t)
ABSENT(Boolean, bool)
typedef const char *Text;
ABSENT(String, Text)

/* Binaries, clocks, dependencies and partitions: the arguments do not matter, there is nothing to return. */
#define UNSUPPORTED(name) FMI fmi3Status name(void *s) { return failed(s, #name " is not supported by this model"); }
UNSUPPORTED(fmi3GetBinary)
UNSUPPORTED(fmi3SetBinary)
UNSUPPORTED(fmi3GetClock)
UNSUPPORTED(fmi3SetClock)
UNSUPPORTED(fmi3GetNumberOfVariableDependencies)
UNSUPPORTED(fmi3GetVariableDependencies)
UNSUPPORTED(fmi3GetIntervalDecimal)
UNSUPPORTED(fmi3GetIntervalFraction)
UNSUPPORTED(fmi3GetShiftDecimal)
UNSUPPORTED(fmi3GetShiftFraction)
UNSUPPORTED(fmi3SetIntervalDecimal)
UNSUPPORTED(fmi3SetIntervalFraction)
UNSUPPORTED(fmi3SetShiftDecimal)
UNSUPPORTED(fmi3SetShiftFraction)
UNSUPPORTED(fmi3GetOutputDerivatives)
UNSUPPORTED(fmi3ActivateModelPartition)

/* --------------------------------------------------------------------------------------------------- derivatives */

FMI fmi3Status fmi3GetDirectionalDerivative(void *s, References unknowns, size_t n_unknowns, References knowns,
                                            size_t n_knowns, const double seed[], size_t n_seed, double sensitivity[],
                                            size_t n_sensitivity)
{
    ALLOW(s, KNOWN, "fmi3GetDirectionalDerivative")
    return n_seed == n_knowns && n_sensitivity == n_unknowns
            && directional(s, unknowns, n_unknowns, knowns, n_knowns, seed, sensitivity)
        ? fmi3OK : failed(s, "fmi3GetDirectionalDerivative: known are states, torques, parameters and time");
}

FMI fmi3Status fmi3GetAdjointDerivative(void *s, References unknowns, size_t n_unknowns, References knowns,
                                        size_t n_knowns, const double seed[], size_t n_seed, double sensitivity[],
                                        size_t n_sensitivity)
{
    ALLOW(s, KNOWN, "fmi3GetAdjointDerivative")
    return n_seed == n_unknowns && n_sensitivity == n_knowns
            && adjoint(s, unknowns, n_unknowns, knowns, n_knowns, seed, sensitivity)
        ? fmi3OK : failed(s, "fmi3GetAdjointDerivative: known are states, torques, parameters and time");
}

/* ------------------------------------------------------------------------------------------- saved and restored */

FMI fmi3Status fmi3GetFMUState(void *s, void **state)
{
    return save(s, state) ? fmi3OK : failed(s, "out of memory");
}

FMI fmi3Status fmi3SetFMUState(void *s, void *state)
{
    memcpy(s, state, sizeof(State));
    return fmi3OK;
}

FMI fmi3Status fmi3FreeFMUState(void *s, void **state)
{
    (void)s;
    free(*state);
    *state = NULL;
    return fmi3OK;
}

FMI fmi3Status fmi3SerializedFMUStateSize(void *s, void *state, size_t *size)
{
    (void)s, (void)state;
    *size = SERIALIZED;
    return fmi3OK;
}

FMI fmi3Status fmi3SerializeFMUState(void *s, void *state, uint8_t bytes[], size_t size)
{
    return serialize(state, bytes, size) ? fmi3OK : failed(s, "fmi3SerializeFMUState: too few bytes");
}

FMI fmi3Status fmi3DeserializeFMUState(void *s, const uint8_t bytes[], size_t size, void **state)
{
    return deserialize(bytes, size, state)
        ? fmi3OK : failed(s, "fmi3DeserializeFMUState: these bytes are not a state of this model");
}

/* ------------------------------------------------------------------------------------------------ model exchange */

FMI fmi3Status fmi3SetTime(void *s, double time)
{
    ALLOW(s, READY, "fmi3SetTime")
    if (!(fabs(time) <= DBL_MAX)) {
        return failed(s, "fmi3SetTime: the time is not finite");
    }
    ((State *)s)->values[0] = time;
    return fmi3OK;
}

FMI fmi3Status fmi3GetNumberOfContinuousStates(void *s, size_t *count)
{
    (void)s;
    *count = N_STATES;
    return fmi3OK;
}

FMI fmi3Status fmi3GetNumberOfEventIndicators(void *s, size_t *count)
{
    (void)s;
    *count = N_LIMITS;
    return fmi3OK;
}

FMI fmi3Status fmi3GetEventIndicators(void *s, double indicators[], size_t count)
{
    ALLOW(s, KNOWN, "fmi3GetEventIndicators")
    if (count != N_LIMITS) {
        return failed(s, "fmi3GetEventIndicators: wrong number of indicators");
    }
    get_distances(s, indicators);
    return fmi3OK;
}

FMI fmi3Status fmi3GetContinuousStates(void *s, double states[], size_t count)
{
    ALLOW(s, KNOWN, "fmi3GetContinuousStates")
    if (count != N_STATES) {
        return failed(s, "fmi3GetContinuousStates: wrong number of states");
    }
    memcpy(states, ((State *)s)->values + Q, N_STATES * sizeof(double));
    return fmi3OK;
}

FMI fmi3Status fmi3SetContinuousStates(void *s, const double states[], size_t count)
{
    ALLOW(s, READY, "fmi3SetContinuousStates")
    if (count != N_STATES) {
        return failed(s, "fmi3SetContinuousStates: wrong number of states");
    }
    set_states(s, states);
    return fmi3OK;
}

FMI fmi3Status fmi3GetContinuousStateDerivatives(void *s, double derivatives[], size_t count)
{
    ALLOW(s, KNOWN, "fmi3GetContinuousStateDerivatives")
    if (count != N_STATES) {
        return failed(s, "fmi3GetContinuousStateDerivatives: wrong number of states");
    }
    get_derivatives(s, derivatives);
    return fmi3OK;
}

FMI fmi3Status fmi3GetNominalsOfContinuousStates(void *s, double nominals[], size_t count)
{
    ALLOW(s, KNOWN, "fmi3GetNominalsOfContinuousStates")
    if (count != N_STATES) {
        return failed(s, "fmi3GetNominalsOfContinuousStates: wrong number of states");
    }
    memcpy(nominals, nominal_states, N_STATES * sizeof(double));
    return fmi3OK;
}

FMI fmi3Status fmi3CompletedIntegratorStep(void *s, bool no_return, bool *event, bool *terminate)
{
    ALLOW(s, READY, "fmi3CompletedIntegratorStep")
    (void)no_return;
    *event = left(((State *)s)->values + Q, 0.0) != 0 || drifted(s);
    *terminate = false;
    return fmi3OK;
}

/* ---------------------------------------------------------------------------------------------------- co-simulation */

/* At a limit the step ends early where that is allowed, and is discarded where it is not. */
FMI fmi3Status fmi3DoStep(void *instance, double time, double step, bool no_return, bool *event, bool *terminate,
                          bool *early, double *reached)
{
    Instance *s = instance;
    const char *fault;
    int ended;
    (void)no_return;
    ALLOW(s, RUNNING, "fmi3DoStep")
    fault = step_fault(s, time, step);
    if (fault) {
        return failed(s, fault);
    }
    ended = do_step(&s->state, time, step);
    *event = *early = false;
    *terminate = ended == STOPPED;
    *reached = s->state.values[0];
    if (ended == STOPPED) {
        *early = s->early;
        return at_limit(s, s->early ? fmi3OK : fmi3Discard, s->state.stopped);
    }
    return ended == DONE ? fmi3OK : failed(s, "fmi3DoStep: " CANNOT_GO_ON);
}
