package tool

import "testing"

// hermetic keeps the configuration of whoever runs the tests out of them.
func hermetic(o Options) Options {
	o.Home = o.TempDir
	o.Environ = func() []string { return []string{"GIT_CONFIG_NOSYSTEM=1"} }
	return o
}

func TestGrepCases(t *testing.T)  { runCases(t, func(o Options) Tool { return NewGrep(hermetic(o)) }) }
func TestFindCases(t *testing.T)  { runCases(t, func(o Options) Tool { return NewFind(hermetic(o)) }) }
func TestReadCases(t *testing.T)  { runCases(t, func(o Options) Tool { return NewRead(o) }) }
func TestWriteCases(t *testing.T) { runCases(t, func(o Options) Tool { return NewWrite(o) }) }
func TestEditCases(t *testing.T)  { runCases(t, func(o Options) Tool { return NewEdit(o) }) }
func TestLsCases(t *testing.T)    { runCases(t, func(o Options) Tool { return NewLs(o) }) }

func TestBashCases(t *testing.T) {
	skipOnWindows(t, "the commands are those of Unix")
	runCases(t, func(o Options) Tool { return NewBash(o) })
}
