/* Stubs of hooks.h: keep the argument registers, call the C function, jump to the real one. */

        .bss
        .balign 8
        .globl  forebay_real_dlopen
        .hidden forebay_real_dlopen
        .type   forebay_real_dlopen, %object
        .size   forebay_real_dlopen, 8
forebay_real_dlopen:
        .zero   8
        .globl  forebay_real_dlsym
        .hidden forebay_real_dlsym
        .type   forebay_real_dlsym, %object
        .size   forebay_real_dlsym, 8
forebay_real_dlsym:
        .zero   8

        .text
        .globl  forebay_dlopen_hook
        .hidden forebay_dlopen_hook
        .type   forebay_dlopen_hook, %function
        .globl  forebay_dlsym_hook
        .hidden forebay_dlsym_hook
        .type   forebay_dlsym_hook, %function
        .hidden forebay_before_dlopen
        .hidden forebay_before_dlsym

#if defined(__x86_64__)
#include <cet.h>

forebay_dlopen_hook:
        .cfi_startproc
        _CET_ENDBR
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movq    %rdi, (%rsp)
        movq    %rsi, 8(%rsp)
        call    forebay_before_dlopen
        movq    (%rsp), %rdi
        movq    8(%rsp), %rsi
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        jmp     *forebay_real_dlopen(%rip)
        .cfi_endproc

forebay_dlsym_hook:
        .cfi_startproc
        _CET_ENDBR
        subq    $24, %rsp
        .cfi_adjust_cfa_offset 24
        movq    %rdi, (%rsp)
        movq    %rsi, 8(%rsp)
        movq    24(%rsp), %rdx
        call    forebay_before_dlsym
        movq    (%rsp), %rdi
        movq    8(%rsp), %rsi
        addq    $24, %rsp
        .cfi_adjust_cfa_offset -24
        testq   %rax, %rax
        jz      1f
        ret
1:      jmp     *forebay_real_dlsym(%rip)
        .cfi_endproc

#elif defined(__aarch64__)

forebay_dlopen_hook:
        .cfi_startproc
        hint    #34                     /* bti c */
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        stp     x0, x1, [sp, #16]
        bl      forebay_before_dlopen
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        adrp    x16, forebay_real_dlopen
        ldr     x16, [x16, #:lo12:forebay_real_dlopen]
        br      x16
        .cfi_endproc

forebay_dlsym_hook:
        .cfi_startproc
        hint    #34                     /* bti c */
        stp     x29, x30, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        .cfi_rel_offset x29, 0
        .cfi_rel_offset x30, 8
        stp     x0, x1, [sp, #16]
        mov     x2, x30
        bl      forebay_before_dlsym
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x29, x30, [sp], #32
        .cfi_adjust_cfa_offset -32
        .cfi_restore x29
        .cfi_restore x30
        cbz     x16, 1f
        mov     x0, x16
        ret
1:      adrp    x16, forebay_real_dlsym
        ldr     x16, [x16, #:lo12:forebay_real_dlsym]
        br      x16
        .cfi_endproc

#endif

        .size   forebay_dlopen_hook, forebay_dlsym_hook - forebay_dlopen_hook
        .size   forebay_dlsym_hook, . - forebay_dlsym_hook
        .section .note.GNU-stack, "", %progbits
