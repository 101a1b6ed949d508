package modeltest

type generate struct{ chat }
