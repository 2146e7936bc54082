/* One instance of the arm: all of its numbers in one array, and the integrator that co-simulation needs.

   values: time | q (N) | qd (N) | qdd (N) | torques (N_INPUTS) | parameters (N_PARAMETERS) | outputs (N_OUTPUTS).
   The place in this array is the value reference. Instances share nothing.
*/
#ifndef FMU_INSTANCE_H
#define FMU_INSTANCE_H

#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define Q 1
#define ACCELERATIONS (Q + 2 * N)
#define INPUTS (ACCELERATIONS + N)
#define PARAMETERS (INPUTS + N_INPUTS)
#define OUTPUTS (PARAMETERS + N_PARAMETERS)
#define N_VALUES (OUTPUTS + N_OUTPUTS)
#define N_STATES (2 * N)

#define DEFAULT_TOLERANCE 1e-8
#define MOST_STEPS 2000000L

typedef struct {
    double values[N_VALUES];
    double tolerance;
    double step;      /* last accepted step of the integrator, 0 before the first */
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
    s->stale = 1;
}

/* The outermost functions of the model take flat arrays. */
static void rates(Instance *s, const double *x, double *xd)
{
    memcpy(xd, x + N, N * sizeof(double));
    model_accelerations(x, x + N, s->values + INPUTS, s->values + PARAMETERS, xd + N);
}

static void update(Instance *s)
{
    double *v = s->values;
    if (s->stale) {
        model_accelerations(v + Q, v + Q + N, v + INPUTS, v + PARAMETERS, v + ACCELERATIONS);
        model_outputs(v + Q, v + Q + N, v + ACCELERATIONS, v + PARAMETERS, v + OUTPUTS);
        s->stale = 0;
    }
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

/* Dormand and Prince's pair of order 5 and 4. */
static const double A[6][6] = {
    {1.0/5},
    {3.0/40, 9.0/40},
    {44.0/45, -56.0/15, 32.0/9},
    {19372.0/6561, -25360.0/2187, 64448.0/6561, -212.0/729},
    {9017.0/3168, -355.0/33, 46732.0/5247, 49.0/176, -5103.0/18656},
    {35.0/384, 0.0, 500.0/1113, 125.0/192, -2187.0/6784, 11.0/84}
};
static const double E[7] = {
    71.0/57600, 0.0, -71.0/16695, 71.0/1920, -17253.0/339200, 22.0/525, -1.0/40
};

/* One trial step from x with k[0] = rates(x): the new state in y, its rates in k[6]; returns the scaled error. */
static double trial(Instance *s, const double *x, double h, double k[7][N_STATES], double *y)
{
    double sum = 0.0;
    int i, j, stage;
    for (stage = 0; stage < 6; stage++) {
        for (i = 0; i < N_STATES; i++) {
            double slope = 0.0;
            for (j = 0; j <= stage; j++) {
                slope += A[stage][j] * k[j][i];
            }
            y[i] = x[i] + h * slope;
        }
        rates(s, y, k[stage + 1]);
    }
    for (i = 0; i < N_STATES; i++) {
        const double scale = s->tolerance * (0.01 + fmax(fabs(x[i]), fabs(y[i])));
        double error = 0.0;
        for (j = 0; j < 7; j++) {
            error += E[j] * k[j][i];
        }
        sum += h * error / scale * (h * error / scale);
    }
    return sqrt(sum / N_STATES);
}

/* Integrates to time `end` with torques and parameters held; 0 where it cannot. */
static int integrate(Instance *s, double end)
{
    double k[7][N_STATES], y[N_STATES], *x = s->values + Q;
    const double span = end - s->values[0];
    double t = s->values[0], h = s->step > 0.0 ? s->step : 1e-3 * span;
    long count;
    if (!(span > 0.0)) {
        return span == 0.0;
    }
    rates(s, x, k[0]);
    for (count = 0; count < MOST_STEPS; count++) {
        const int last = t + h * (1.0 + 1e-12) >= end;
        const double trying = last ? end - t : h;
        const double error = trial(s, x, trying, k, y);
        if (error <= 1.0) {
            const double grow = fmin(5.0, 0.9 * pow(fmax(error, 1e-10), -0.2));
            memcpy(x, y, sizeof y);
            memcpy(k[0], k[6], sizeof y);
            t = last ? end : t + trying;
            s->step = last ? fmax(h, trying * grow) : trying * grow;
            h = s->step;
            if (last) {
                s->values[0] = end;
                s->stale = 1;
                return 1;
            }
        } else {
            h = trying * (error == error ? fmax(0.1, 0.9 * pow(error, -0.2)) : 0.1);
            if (t + h == t) {
                return 0;
            }
        }
    }
    return 0;
}

#endif
