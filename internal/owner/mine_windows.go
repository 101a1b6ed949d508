package owner

import "os"

// onlyMine: the folders of a user's profile are the user's.
func onlyMine(dir string) error {
	_, err := os.Stat(dir)
	return err
}

func socketIsMine(path string) error {
	_, err := os.Lstat(path)
	return err
}
