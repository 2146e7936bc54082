/* Starts a program on a Cortex-M of QEMU or of a debugger with semihosting: vectors, and the floating-point unit. */
#include <stdint.h>

extern void _start(void);

static void reset(void)
{
    *(volatile uint32_t *)0xE000ED88 |= 0xFU << 20; /* CPACR: full access to coprocessors 10 and 11 */
    __asm volatile("dsb\n isb");
    _start();
    for (;;) {
    }
}

static void stop(void)
{
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    0x20400000U, /* the stack, downwards from here */
    (uintptr_t)reset, (uintptr_t)stop, (uintptr_t)stop, (uintptr_t)stop, (uintptr_t)stop, (uintptr_t)stop,
};
