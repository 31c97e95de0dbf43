package doctor

import "golang.org/x/sys/windows"

func accessible(string) bool { return true }

func groupOf(string) string { return "" }

// freeSpace returns how many bytes the user can still write below a folder.
func freeSpace(dir string) (free uint64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(path, &free, nil, nil)
	return free, err
}
