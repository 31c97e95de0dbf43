# Assembly as kernels have it: labels that have neither type nor size, local ones,
# a loop, and a function with a size.
	.text
	.globl	_start
_start:
	xorl	%ebp, %ebp
	call	clear
1:	hlt
	jmp	1b

clear:	movl	$16, %ecx
	xorl	%eax, %eax
2:	movb	%al, (%rdi)
	incq	%rdi
	loop	2b
	ret

	.p2align 4
	.type	sized, @function
sized:	nop
	ret
	.size	sized, .-sized

	.section .init.text, "ax"
first:	nop
	call	clear
