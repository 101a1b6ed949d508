package tool

import "testing"

func TestReadCases(t *testing.T)  { runCases(t, func(o Options) Tool { return NewRead(o) }) }
func TestWriteCases(t *testing.T) { runCases(t, func(o Options) Tool { return NewWrite(o) }) }
func TestEditCases(t *testing.T)  { runCases(t, func(o Options) Tool { return NewEdit(o) }) }
func TestLsCases(t *testing.T)    { runCases(t, func(o Options) Tool { return NewLs(o) }) }

func TestBashCases(t *testing.T) {
	skipOnWindows(t, "the commands are those of Unix")
	runCases(t, func(o Options) Tool { return NewBash(o) })
}
