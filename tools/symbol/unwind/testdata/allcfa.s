# Every instruction of call frame information that the assembler can write, for
# the comparison with readelf. The code is never run.
	.ifdef DEBUG
	.cfi_sections .debug_frame
	.endif
	.text
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	nop
	.cfi_endproc
	.size _start, .-_start

	.type all, @function
all:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	push %rbp
	.cfi_def_cfa_offset 24
	.cfi_offset rbp, -24
	mov %rsp, %rbp
	.cfi_def_cfa_register rbp
	nop
	.cfi_remember_state
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	.cfi_restore rbx
	nop
	.cfi_restore_state
	.cfi_remember_state
	.cfi_same_value r12
	nop
	.cfi_register r13, rax
	nop
	.cfi_undefined r14
	nop
	.cfi_restore r14
	nop
	.cfi_restore_state
	.cfi_val_offset r15, -32
	nop
	.cfi_escape 0x2e, 0x10		# DW_CFA_GNU_args_size 16
	nop
	.cfi_escape 0x10, 0x03, 0x02, 0x76, 0x08	# expression rbx: breg6 +8
	nop
	.cfi_escape 0x16, 0x0c, 0x02, 0x76, 0x10	# val_expression r12: breg6 +16
	nop
	.cfi_escape 0x0f, 0x03, 0x77, 0x08, 0x06	# def_cfa_expression: breg7 +8; deref
	nop
	.cfi_escape 0x12, 0x07, 0x7f			# def_cfa_sf rsp, 8
	nop
	.cfi_escape 0x13, 0x7e				# def_cfa_offset_sf 16
	nop
	.cfi_escape 0x11, 0x06, 0x02			# offset_extended_sf rbp, -16
	nop
	.cfi_escape 0x05, 0x0e, 0x03			# offset_extended r14, -24
	nop
	.cfi_escape 0x06, 0x0e				# restore_extended r14
	nop
	.cfi_escape 0x14, 0x0d, 0x05			# val_offset r13, -40
	nop
	.cfi_escape 0x15, 0x0d, 0x04			# val_offset_sf r13, -32
	.fill 70, 1, 0x90
	.cfi_def_cfa rsp, 8
	.fill 300, 1, 0x90
	.cfi_def_cfa_offset 16
	.fill 70000, 1, 0x90
	.cfi_def_cfa_offset 24
	ret
	.cfi_endproc
	.size all, .-all

	.type sig, @function
sig:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa rsp, 16
	nop
	.cfi_endproc
	.size sig, .-sig

	.type langs, @function
langs:
	.cfi_startproc
	.ifndef DEBUG
	.cfi_personality 0x1b, persona
	.cfi_lsda 0x1b, data
	.endif
	push %rax
	.cfi_adjust_cfa_offset 8
	pop %rax
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size langs, .-langs

persona:
	ret
	.section .rodata
data:
	.byte 0
