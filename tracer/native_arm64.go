package tracer

const onARM64 = true
