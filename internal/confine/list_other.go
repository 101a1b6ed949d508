//go:build !unix

package confine

import "os"

func plainFile(f *os.File, _ string) (*os.File, error) { return f, nil }
