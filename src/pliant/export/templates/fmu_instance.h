/* One instance of the arm: all of its numbers in one array, their derivatives, its limits, and the integrator that
   co-simulation needs. The interface of a version of the standard stands in `fmi2.c` or `fmi3.c`; all else is here.

   values: time | q (N) | qd (N) | friction (N_FRICTION) | qdd (N) | rates of friction (N_FRICTION) | torques (N_INPUTS)
   | parameters (N_PARAMETERS) | outputs (N_OUTPUTS) | distances to limits (N_LIMITS).
   Where the arm has quaternions, q has N_Q numbers, and its rates stand before the torques.
   The place in this array is the value reference. Instances share nothing.
*/
#ifndef FMU_INSTANCE_H
#define FMU_INSTANCE_H

#include "model.h"
#include "method.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef N_Q
#define N_RATES N_Q
#else
#define N_Q N
#define N_RATES 0 /* the rates of q are qd */
#endif

#define Q 1
#define QD (Q + N_Q)
#define FRICTION (QD + N)
#define N_STATES (N_Q + N + N_FRICTION)
#define ACCELERATIONS (Q + N_STATES)
#define RATES (ACCELERATIONS + N + N_FRICTION)
#define INPUTS (RATES + N_RATES)
#define PARAMETERS (INPUTS + N_INPUTS)
#define OUTPUTS (PARAMETERS + N_PARAMETERS)
#define DISTANCES (OUTPUTS + N_OUTPUTS)
#define N_VALUES (DISTANCES + N_LIMITS)

#define DEFAULT_TOLERANCE 1e-8
#define MOST_STEPS 2000000L
#define AT_A_LIMIT 1e-9 /* s: an arm that comes to a limit within this time is there, for masters that find the event */

/* Modes of an instance by the standard; a running one is in step mode, or in continuous-time mode. */
enum { INSTANTIATED = 1, INITIALIZATION = 2, EVENT = 4, RUNNING = 8, TERMINATED = 16 };
#define READY (EVENT | RUNNING)
#define KNOWN (INITIALIZATION | READY | TERMINATED) /* values can be read */

/* What is saved and restored: everything that a step depends on. */
typedef struct {
    double values[N_VALUES];
    int mode;
    double tolerance;
    double step;      /* last accepted step of the integrator, 0 before the first */
    double error;     /* of that step, for the controller */
    int stale;        /* accelerations and outputs do not belong to the state yet */
    double end;       /* time beyond which no step leads, infinite where the environment stated none */
    int stopped;      /* limit at which a step ended, counted from 1; 0 where none did */
} State;

typedef struct {
    State state;      /* first, so that an instance is also its state */
    int early;        /* whether a step may end early */
    int events;       /* whether it begins in event mode: for model exchange, or where the master asks for it */
    int exchange;     /* for model exchange, without steps */
    void *environment;
    void *logger;
} Instance;

/* A run begins, or begins anew. */
static void start(State *s, double time)
{
    s->values[0] = time;
    s->step = 0.0;
    s->error = FIRST_ERROR;
    s->stopped = 0;
    s->stale = 1;
}

/* What is wrong with the times of a run, or NULL; takes them over if nothing is. */
static const char *set_times(State *s, double time, int stops, double stop)
{
    if (!(fabs(time) <= DBL_MAX)) {
        return "the start time is not finite";
    }
    if (stops && !(stop >= time)) {
        return "the stop time is before the start time, or no number";
    }
    s->end = stops ? stop : INFINITY;
    start(s, time);
    return NULL;
}

static void reset(State *s)
{
    memset(s, 0, sizeof *s);
    memcpy(s->values + Q, start_states, N_STATES * sizeof(double));
    memcpy(s->values + PARAMETERS, start_parameters, N_PARAMETERS * sizeof(double));
    s->tolerance = DEFAULT_TOLERANCE;
    s->end = INFINITY;
    s->mode = INSTANTIATED;
    start(s, 0.0);
}

/* The words for a call that the standard does not allow now. */
static const char *out_of_order(char *text, size_t size, const char *call, int mode)
{
    snprintf(text, size, "%s: not allowed %s", call,
             mode == INSTANTIATED ? "before the initialization" : mode == INITIALIZATION ? "during the initialization"
             : mode == EVENT ? "in event mode" : mode == TERMINATED ? "behind the end" : "outside event mode");
    return text;
}

/* ---------------------------------------------------------------------------------------------------------- limits */

/* How far limit k is passed at a state x, and how fast the arm moves outwards there. */
static double beyond(int k, const double *x)
{
    return limits[k].direction * (x[limits[k].place] - limits[k].value);
}

static double outward(int k, const double *x)
{
    return limits[k].direction * x[N_Q + limits[k].speed];
}

/* The limit that the arm has left, counted from 1: it is beyond, or there and moves out; there is what comes to the
   limit within the time `soon`. The same rule as in a run, where `soon` is 0. */
static int left(const double *x, double soon)
{
    int k;
    for (k = 0; k < N_LIMITS; k++) {
        const double out = beyond(k, x), speed = outward(k, x);
        if (out > 0.0 || (speed > 0.0 && out + soon * speed >= 0.0)) {
            return k + 1;
        }
    }
    return 0;
}

/* The limit that is passed farthest. */
static int farthest(const double *x)
{
    int k, found = 0;
    for (k = 1; k < N_LIMITS; k++) {
        if (beyond(k, x) > beyond(found, x)) {
            found = k;
        }
    }
    return found;
}

/* Which limit ends the run, where and when; `limit` is counted from 1. */
static const char *limit_message(char *text, size_t size, int limit, double time)
{
    snprintf(text, size, "%s (%.9g) at t = %.9g s: the run ends here", limits[limit - 1].name, limits[limit - 1].value,
             time);
    return text;
}

/* ---------------------------------------------------------------------------------------------------------- values */

static void coordinate_rates(const double *x, double *out)
{
#if N_RATES
    model_rates(x, x + N_Q, out);
#else
    memcpy(out, x + N, N * sizeof(double));
#endif
}

/* The outermost functions of the model take flat arrays. */
static void rates(const State *s, const double *x, double *xd)
{
    coordinate_rates(x, xd);
    model_accelerations(x, x + N_Q, x + N_Q + N, s->values + INPUTS, s->values + PARAMETERS, xd + N_Q);
}

static void update(State *s)
{
    double *v = s->values;
    int k;
    if (s->stale) {
        model_accelerations(v + Q, v + QD, v + FRICTION, v + INPUTS, v + PARAMETERS, v + ACCELERATIONS);
        model_outputs(v + Q, v + QD, v + ACCELERATIONS, v + PARAMETERS, v + OUTPUTS);
        if (N_RATES) {
            coordinate_rates(v + Q, v + RATES);
        }
        for (k = 0; k < N_LIMITS; k++) {
            v[DISTANCES + k] = -beyond(k, v + Q);
        }
        s->stale = 0;
    }
}

/* Rates of q, of qd and of friction. */
static void get_derivatives(State *s, double *out)
{
    update(s);
    memcpy(out, s->values + (N_RATES ? RATES : QD), N_Q * sizeof(double));
    memcpy(out + N_Q, s->values + ACCELERATIONS, (N + N_FRICTION) * sizeof(double));
}

static void get_distances(State *s, double *out)
{
    update(s);
    memcpy(out, s->values + DISTANCES, N_LIMITS * sizeof(double));
}

static int get_values(State *s, const unsigned *references, size_t count, double *out)
{
    size_t i;
    update(s);
    for (i = 0; i < count; i++) {
        if (references[i] >= N_VALUES) {
            return 0;
        }
        out[i] = s->values[references[i]];
    }
    return 1;
}

/* States, torques and parameters may be set; everything else follows from them. */
static int given(unsigned r)
{
    return (r >= Q && r < ACCELERATIONS) || (r >= INPUTS && r < OUTPUTS);
}

static int set_values(State *s, const unsigned *references, size_t count, const double *in)
{
    size_t i;
    for (i = 0; i < count; i++) {
        const unsigned r = references[i];
        if (!given(r)) {
            return 0;
        }
        s->values[r] = in[i];
        s->stale = 1;
        if (r < ACCELERATIONS) {
            s->stopped = 0;
        }
    }
    return 1;
}

static void set_states(State *s, const double *x)
{
    memcpy(s->values + Q, x, N_STATES * sizeof(double));
    s->stale = 1;
    s->stopped = 0;
}

/* ----------------------------------------------------------------------------------------------------- derivatives */

/* The change d of all values along a direction of what is given; nothing depends on time itself. */
static int directional(State *s, const unsigned *unknowns, size_t n_unknowns, const unsigned *knowns, size_t n_knowns,
                       const double *seed, double *out)
{
    double d[N_VALUES] = {0.0};
    const double *v = s->values;
    size_t i;
    int k;
    for (i = 0; i < n_knowns; i++) {
        if (knowns[i] != 0 && !given(knowns[i])) {
            return 0;
        }
        d[knowns[i]] += seed[i];
    }
    update(s);
    model_accelerations_change(v + Q, v + QD, v + FRICTION, v + INPUTS, v + PARAMETERS, v + ACCELERATIONS, d + Q, d + QD,
                               d + FRICTION, d + INPUTS, d + PARAMETERS, d + ACCELERATIONS);
    model_outputs_change(v + Q, v + QD, v + ACCELERATIONS, v + PARAMETERS, d + Q, d + QD, d + ACCELERATIONS,
                         d + PARAMETERS, d + OUTPUTS);
#if N_RATES
    model_rates_change(v + Q, v + QD, d + Q, d + QD, d + RATES);
#endif
    for (k = 0; k < N_LIMITS; k++) {
        d[DISTANCES + k] = -limits[k].direction * d[Q + limits[k].place];
    }
    for (i = 0; i < n_unknowns; i++) {
        if (unknowns[i] >= N_VALUES) {
            return 0;
        }
        out[i] = d[unknowns[i]];
    }
    return 1;
}

#ifdef ADJOINTS

static void add(double *to, const double *from, int count)
{
    int i;
    for (i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

/* The gradient g, by all that is given, of values weighted by a seed: the same functions backwards. */
static int adjoint(State *s, const unsigned *unknowns, size_t n_unknowns, const unsigned *knowns, size_t n_knowns,
                   const double *seed, double *out)
{
    double g[N_VALUES] = {0.0}, more[N_VALUES];
    const double *v = s->values;
    size_t i;
    int k;
    for (i = 0; i < n_unknowns; i++) {
        if (unknowns[i] >= N_VALUES) {
            return 0;
        }
        g[unknowns[i]] += seed[i];
    }
    update(s);
    for (k = 0; k < N_LIMITS; k++) {
        g[Q + limits[k].place] -= limits[k].direction * g[DISTANCES + k];
    }
    model_outputs_gradient(v + Q, v + QD, v + ACCELERATIONS, v + PARAMETERS, g + OUTPUTS, more + Q, more + QD,
                           more + ACCELERATIONS, more + PARAMETERS);
    add(g + Q, more + Q, N_Q + N);
    add(g + ACCELERATIONS, more + ACCELERATIONS, N);
    add(g + PARAMETERS, more + PARAMETERS, N_PARAMETERS);
#if N_RATES
    model_rates_gradient(v + Q, v + QD, g + RATES, more + Q, more + QD);
    add(g + Q, more + Q, N_Q + N);
#endif
    model_accelerations_gradient(v + Q, v + QD, v + FRICTION, v + INPUTS, v + PARAMETERS, v + ACCELERATIONS,
                                 g + ACCELERATIONS, more + Q, more + QD, more + FRICTION, more + INPUTS,
                                 more + PARAMETERS);
    add(g + Q, more + Q, N_STATES);
    add(g + INPUTS, more + INPUTS, N_INPUTS + N_PARAMETERS);
    for (i = 0; i < n_knowns; i++) {
        if (knowns[i] != 0 && !given(knowns[i])) {
            return 0;
        }
        out[i] = g[knowns[i]];
    }
    return 1;
}

#endif

/* ---------------------------------------------------------------------------------------------- saved and restored */

#define SERIALIZED (sizeof MODEL_TOKEN + sizeof(State))

static int save(const void *s, void **state)
{
    if (!*state && !(*state = malloc(sizeof(State)))) {
        return 0;
    }
    memcpy(*state, s, sizeof(State));
    return 1;
}

/* As bytes: whose state it is, then the state. */
static int serialize(const void *state, void *bytes, size_t size)
{
    if (size < SERIALIZED) {
        return 0;
    }
    memcpy(bytes, MODEL_TOKEN, sizeof MODEL_TOKEN);
    memcpy((char *)bytes + sizeof MODEL_TOKEN, state, sizeof(State));
    return 1;
}

static int deserialize(const void *bytes, size_t size, void **state)
{
    State found;
    if (size != SERIALIZED || memcmp(bytes, MODEL_TOKEN, sizeof MODEL_TOKEN) != 0) {
        return 0;
    }
    memcpy(&found, (const char *)bytes + sizeof MODEL_TOKEN, sizeof found);
    return save(&found, state);
}

/* ----------------------------------------------------------------------------------------------------------- loops */

#define OPEN 10.0 /* times the tolerance: loops that a solver has let drift so far are closed at an event */

#if N_CLOSED

typedef void (*Closer)(const double *q, const double *qd, const double *p, double *closed);

/* A state x nearer to closed loops; returns by how much it was moved, or -1 where the loops are singular. */
static double nearer(const State *s, Closer closer, double *x)
{
    double closed[N_Q + N + 2];
    closer(x, x + N_Q, s->values + PARAMETERS, closed);
    memcpy(x, closed, (N_Q + N) * sizeof(double));
    return closed[N_Q + N + 1] > SINGULAR ? closed[N_Q + N] : -1.0;
}

/* Closes the loops of a state x as runs do; 0 where they cannot be closed. */
static int close_by(const State *s, Closer closer, double *x)
{
    int count;
    for (count = 0; count < MOST_CLOSING; count++) {
        const double moved = nearer(s, closer, x);
        if (!(moved >= 0.0)) {
            return 0;
        }
        if (moved <= NEARLY_CLOSED) {
            return 1;
        }
    }
    return 0;
}

static int close_loops(const State *s, double *x)
{
    return close_by(s, model_closing, x);
}

/* Closes the loops of a start by what is not actuated; by all where that cannot be. */
static int close_start(const State *s, double *x)
{
    double y[N_STATES];
    memcpy(y, x, sizeof y);
    if (!close_by(s, model_starting, y)) {
        return close_loops(s, x);
    }
    memcpy(x, y, sizeof y);
    return 1;
}

/* Whether the loops are open by more than a solver's tolerance explains. */
static int drifted(const State *s)
{
    double x[N_STATES], moved;
    memcpy(x, s->values + Q, sizeof x);
    moved = nearer(s, model_closing, x);
    return !(moved >= 0.0 && moved <= OPEN * s->tolerance);
}

#else

static int close_loops(const State *s, const double *x)
{
    (void)s, (void)x;
    return 1;
}

#define close_start close_loops

static int drifted(const State *s)
{
    (void)s;
    return 0;
}

#endif

/* The state of an instance with loops closed, where it starts or as a solver left it; 0 where that cannot be. */
static int begin(State *s)
{
    s->stale = 1;
    return close_start(s, s->values + Q);
}

static int settle(State *s)
{
    s->stale = 1;
    return close_loops(s, s->values + Q);
}

#define CANNOT_CLOSE "the loops cannot be closed from this state, or their position is singular; start nearer to a " \
    "closed position"

/* ------------------------------------------------------------------------------------------------------ integrator */

/* One trial step from x with k[0] = rates(x): the new state in y, its rates in the last k; returns the scaled error. */
static double trial(const State *s, const double *x, double h, double k[STAGES][N_STATES], double *y)
{
    double sum = 0.0;
    int i, j, stage;
    for (stage = 1; stage < STAGES; stage++) {
        for (i = 0; i < N_STATES; i++) {
            double slope = 0.0;
            for (j = 0; j < stage; j++) {
                slope += A[stage * STAGES + j] * k[j][i];
            }
            y[i] = x[i] + h * slope;
        }
        rates(s, y, k[stage]);
    }
    for (i = 0; i < N_STATES; i++) {
        double error = 0.0, ratio;
        for (j = 0; j < STAGES; j++) {
            error += ERROR[j] * k[j][i];
        }
        ratio = scaled(h * error, x[i], y[i], s->tolerance, 0.01 * s->tolerance);
        sum += ratio * ratio;
    }
    return sqrt(sum / N_STATES);
}

/* The first step, from the sizes of state and slopes. */
static double first(const State *s, const double *x, const double *slope)
{
    double states = 0.0, slopes = 0.0;
    int i;
    for (i = 0; i < N_STATES; i++) {
        const double a = scaled(x[i], x[i], x[i], s->tolerance, 0.01 * s->tolerance);
        const double b = scaled(slope[i], x[i], x[i], s->tolerance, 0.01 * s->tolerance);
        states += a * a;
        slopes += b * b;
    }
    return first_step(sqrt(states / N_STATES), sqrt(slopes / N_STATES));
}

/* The step from x that ends where the first limit is passed, shorter than h, after which one is: by Newton's method on
   whole steps of the method, kept in a bracket. Leaves the state there in y. */
static double crossing(const State *s, const double *x, double h, double k[STAGES][N_STATES], double *y)
{
    double low = 0.0, high = h, at = h;
    int count;
    for (count = 0; count < 100; count++) {
        const int which = farthest(y);
        const double out = beyond(which, y);
        if (out > 0.0) {
            high = at;
        } else {
            low = at;
        }
        if (fabs(out) <= 2.0 * DBL_EPSILON * (1.0 + fabs(limits[which].value)) || high - low <= DBL_EPSILON * h) {
            break;
        }
        at -= out / outward(which, y);
        if (!(at > low && at < high)) {
            at = low + 0.5 * (high - low);
        }
        trial(s, x, at, k, y);
    }
    return at;
}

/* The step that ends beyond limit i where the joint turns back within the step h from x to y, or h where it comes not
   so far: its farthest place is where its speed is zero. Leaves the state there in y. */
static double turning(const State *s, int i, const double *x, double h, double k[STAGES][N_STATES], double *y)
{
    double low = 0.0, high = h, out = outward(i, x), back = outward(i, y);
    int count;
    for (count = 0; count < 4; count++) {
        const double middle = low + (high - low) * out / (out - back);
        trial(s, x, middle, k, y);
        if (left(y, 0.0)) {
            return middle;
        }
        if (outward(i, y) > 0.0) {
            low = middle;
            out = outward(i, y);
        } else {
            high = middle;
            back = outward(i, y);
        }
    }
    trial(s, x, h, k, y);
    return h;
}

/* The part of an accepted step from x to y within the limits: all of it, or up to the crossing, with the state there
   in y. */
static double within(State *s, const double *x, double h, double k[STAGES][N_STATES], double *y)
{
    int i;
    for (i = 0; i < N_LIMITS && !left(y, 0.0); i++) {
        if (outward(i, x) > 0.0 && outward(i, y) < 0.0 && beyond(i, x) + h * outward(i, x) > 0.0) {
            h = turning(s, i, x, h, k, y);
        }
    }
    if (left(y, 0.0)) {
        h = crossing(s, x, h, k, y);
        s->stopped = farthest(y) + 1;
    }
    return h;
}

#if N_MEETS

/* Gaps beyond which alone something acts, and speeds past it, in widths that a step may pass unseen. */
static void look(const State *s, const double *x, double *gaps)
{
    model_approach(x, x + N_Q, s->values + PARAMETERS, gaps);
}

/* How far a step h may go that leaps over something; h where it does not. */
static double farthest_step(const double *before, const double *after, double h)
{
    double most = h;
    int i;
    for (i = 0; i < N_MEETS; i++) {
        const double speed = larger(before[N_MEETS + i], after[N_MEETS + i]);
        if (leaps(before[i], after[i], speed, h, 1.0) > 0.0) {
            most = smaller(most, reach(before[i], speed));
        }
    }
    return most;
}

#endif

enum { FAILED, DONE, STOPPED };

/* Integrates to time `end` with torques and parameters held, or to the limit that a joint leaves before. */
static int integrate(State *s, double end)
{
    double k[STAGES][N_STATES], y[N_STATES], *x = s->values + Q;
    const double span = end - s->values[0];
    double t = s->values[0], h = s->step;
#if N_MEETS
    double gaps[2 * N_MEETS], following[2 * N_MEETS];
#endif
    long count;
    int again = 0;
    if (!s->stopped) {
        s->stopped = left(x, 0.0);
    }
    if (s->stopped) {
        return STOPPED;
    }
    if (!(span > 0.0)) {
        return span == 0.0 ? DONE : FAILED;
    }
    rates(s, x, k[0]);
    if (!(h > 0.0)) {
        h = first(s, x, k[0]);
    }
#if N_MEETS
    look(s, x, gaps);
#endif
    for (count = 0; count < MOST_STEPS; count++) {
        const int last = t + h * (1.0 + 1e-12) >= end;
        const double trying = last ? end - t : h;
        const double error = trial(s, x, trying, k, y);
        const double ratio = step_ratio(error, s->error, again, ALPHA, BETA);
#if N_MEETS
        look(s, y, following);
        if (error <= 1.0 && farthest_step(gaps, following, trying) < trying) {
            h = farthest_step(gaps, following, trying);
            continue;
        }
#endif
        if (error <= 1.0) {
            const double taken = N_LIMITS ? within(s, x, trying, k, y) : trying;
            memcpy(x, y, sizeof y);
            memcpy(k[0], k[STAGES - 1], sizeof y);
            if (N_CLOSED) {
                if (!close_loops(s, x)) {
                    return FAILED;
                }
                rates(s, x, k[0]);
            }
            t = last && !s->stopped ? end : t + taken;
            s->step = h = next_step(trying, h, ratio);
#if N_MEETS
            look(s, x, gaps);
#endif
            s->error = larger(error, LEAST_MEMORY);
            s->values[0] = t;
            s->stale = 1;
            again = 0;
            if (last || s->stopped) {
                return s->stopped ? STOPPED : DONE;
            }
        } else {
            h = trying * ratio;
            again = 1;
            if (t + h == t) {
                return FAILED;
            }
        }
    }
    return FAILED;
}

#define SAME_TIME 1e-9 /* of time and step: what a master may lose in adding up */

/* What is wrong with a communication step, or NULL. */
static const char *step_fault(const Instance *s, double time, double step)
{
    const double now = s->state.values[0];
    if (s->exchange) {
        return "doStep: this instance is for model exchange, which has no steps";
    }
    if (!(step > 0.0 && step <= DBL_MAX)) {
        return "doStep: the step is negative, zero or not finite";
    }
    if (time + step > s->state.end + SAME_TIME * (fabs(s->state.end) + step)) {
        return "doStep: the step leads beyond the stop time that was stated";
    }
    if (!s->state.stopped && !(fabs(time - now) <= SAME_TIME * (fabs(now) + step))) {
        return "doStep: the step does not begin at the time that the last one reached; restore a saved state to go back";
    }
    return NULL;
}

/* A communication step; a time that the arm did not reach is not taken over. */
static int do_step(State *s, double time, double step)
{
    if (!s->stopped) {
        s->values[0] = time;
    }
    return integrate(s, time + step);
}

#define CANNOT_GO_ON "the integrator could not go on; the motion may be unbounded, a loop singular, or the arm too " \
    "stiff for an explicit method: use shorter steps, or model exchange with an implicit solver"

#endif
