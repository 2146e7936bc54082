/* One instance of the arm: all of its numbers in one array, and the integrator that co-simulation needs.

   values: time | q (N) | qd (N) | friction (N_FRICTION) | qdd (N) | rates of friction (N_FRICTION) | torques (N_INPUTS)
   | parameters (N_PARAMETERS) | outputs (N_OUTPUTS).
   Where the arm has quaternions, q has N_Q numbers, and its rates stand before the torques.
   The place in this array is the value reference. Instances share nothing.
*/
#ifndef FMU_INSTANCE_H
#define FMU_INSTANCE_H

#include "model.h"
#include "method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef N_Q
#define N_RATES N_Q
#else
#define N_Q N
#define N_RATES 0 /* the rates of q are qd */
#endif

#define Q 1
#define N_STATES (N_Q + N + N_FRICTION)
#define ACCELERATIONS (Q + N_STATES)
#define RATES (ACCELERATIONS + N + N_FRICTION)
#define INPUTS (RATES + N_RATES)
#define PARAMETERS (INPUTS + N_INPUTS)
#define OUTPUTS (PARAMETERS + N_PARAMETERS)
#define N_VALUES (OUTPUTS + N_OUTPUTS)

#define DEFAULT_TOLERANCE 1e-8
#define MOST_STEPS 2000000L

typedef struct {
    double values[N_VALUES];
    double tolerance;
    double step;      /* last accepted step of the integrator, 0 before the first */
    double error;     /* of that step, for the controller */
    int stale;        /* accelerations and outputs do not belong to the state yet */
    void *environment;
    void *logger;
} Instance;

static void reset(Instance *s)
{
    memset(s->values, 0, sizeof s->values);
    memcpy(s->values + Q, start_states, N_STATES * sizeof(double));
    memcpy(s->values + PARAMETERS, start_parameters, N_PARAMETERS * sizeof(double));
    s->tolerance = DEFAULT_TOLERANCE;
    s->step = 0.0;
    s->error = FIRST_ERROR;
    s->stale = 1;
}

static void coordinate_rates(const double *x, double *out)
{
#if N_RATES
    model_rates(x, x + N_Q, out);
#else
    memcpy(out, x + N, N * sizeof(double));
#endif
}

/* The outermost functions of the model take flat arrays. */
static void rates(Instance *s, const double *x, double *xd)
{
    coordinate_rates(x, xd);
    model_accelerations(x, x + N_Q, x + N_Q + N, s->values + INPUTS, s->values + PARAMETERS, xd + N_Q);
}

static void update(Instance *s)
{
    double *v = s->values;
    if (s->stale) {
        model_accelerations(v + Q, v + Q + N_Q, v + Q + N_Q + N, v + INPUTS, v + PARAMETERS, v + ACCELERATIONS);
        model_outputs(v + Q, v + Q + N_Q, v + ACCELERATIONS, v + PARAMETERS, v + OUTPUTS);
        if (N_RATES) {
            coordinate_rates(v + Q, v + RATES);
        }
        s->stale = 0;
    }
}

/* Rates of q, of qd and of friction. */
static void get_derivatives(Instance *s, double *out)
{
    update(s);
    memcpy(out, s->values + (N_RATES ? RATES : Q + N_Q), N_Q * sizeof(double));
    memcpy(out + N_Q, s->values + ACCELERATIONS, (N + N_FRICTION) * sizeof(double));
}

static int get_values(Instance *s, const unsigned *references, size_t count, double *out)
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
static int set_values(Instance *s, const unsigned *references, size_t count, const double *in)
{
    size_t i;
    for (i = 0; i < count; i++) {
        const unsigned r = references[i];
        if (!((r >= Q && r < ACCELERATIONS) || (r >= INPUTS && r < OUTPUTS))) {
            return 0;
        }
        s->values[r] = in[i];
        s->stale = 1;
    }
    return 1;
}

/* One trial step from x with k[0] = rates(x): the new state in y, its rates in the last k; returns the scaled error. */
static double trial(Instance *s, const double *x, double h, double k[STAGES][N_STATES], double *y)
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
static double first(const Instance *s, const double *x, const double *slope)
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

/* Integrates to time `end` with torques and parameters held; 0 where it cannot. */
static int integrate(Instance *s, double end)
{
    double k[STAGES][N_STATES], y[N_STATES], *x = s->values + Q;
    const double span = end - s->values[0];
    double t = s->values[0], h = s->step;
    long count;
    int again = 0;
    if (!(span > 0.0)) {
        return span == 0.0;
    }
    rates(s, x, k[0]);
    if (!(h > 0.0)) {
        h = first(s, x, k[0]);
    }
    for (count = 0; count < MOST_STEPS; count++) {
        const int last = t + h * (1.0 + 1e-12) >= end;
        const double trying = last ? end - t : h;
        const double error = trial(s, x, trying, k, y);
        const double ratio = step_ratio(error, s->error, again, ALPHA, BETA);
        if (error <= 1.0) {
            memcpy(x, y, sizeof y);
            memcpy(k[0], k[STAGES - 1], sizeof y);
            t = last ? end : t + trying;
            s->step = h = next_step(trying, h, ratio);
            s->error = larger(error, LEAST_MEMORY);
            again = 0;
            if (last) {
                s->values[0] = end;
                s->stale = 1;
                return 1;
            }
        } else {
            h = trying * ratio;
            again = 1;
            if (t + h == t) {
                return 0;
            }
        }
    }
    return 0;
}

#endif
