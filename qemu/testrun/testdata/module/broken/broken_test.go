package broken

var broken = 1 + "one"
