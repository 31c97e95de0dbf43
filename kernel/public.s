// So that the compiler accepts the functions of public.go that have no body.
