//go:build !linux && !freebsd && !darwin

package durable

const seekData = -1

func isNoData(error) bool { return false }
