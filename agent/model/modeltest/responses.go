package modeltest

type responses struct{ chat }
