module guest

go 1.26
