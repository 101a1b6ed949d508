//go:build !failpoint

package failpoint

// Here is where the program may be killed.
func Here(string) {}
