module asm

go 1.25
