package durable

import "os"

// mine: Windows keeps a user from the files of others by itself.
func mine(os.FileInfo) bool { return true }
