// Where debug files are that are not beside their program: a debuginfod server's, a symbol
// store's. This package knows none of them; who opens a File says which it may ask.

package symbol

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// A Store has files with debug information, by build ID. *debuginfod.Client is one.
type Store interface {
	// DebugFile returns the path of the file with the debug information of a build. The error
	// is [fs.ErrNotExist] if it has none.
	DebugFile(ctx context.Context, buildID string) (path string, err error)
}

// openStores are the stores of a File, and until when they may be asked.
type openStores struct {
	ctx  context.Context
	list []Store
}

// UseStores makes the File ask stores, one after the other, for debug information that is in no
// file on this machine: once, at the first look-up that needs it, which waits for the answer until
// ctx ends. It is to be called before the first look-up. [File.Incomplete] says what goes wrong.
// Context: host.
func (f *File) UseStores(ctx context.Context, stores ...Store) {
	if len(stores) == 0 {
		return
	}
	f.stores = &openStores{ctx, stores}
	f.Elsewhere = f.find
}

// find returns the path of the file of a build in the stores, or "".
func (f *File) find(id string) string {
	if f.stores == nil || id == "" {
		return ""
	}
	var wrong error
	for _, s := range f.stores.list {
		path, err := s.DebugFile(f.stores.ctx, id)
		if err == nil {
			return path
		}
		if wrong == nil && !errors.Is(err, fs.ErrNotExist) {
			wrong = fmt.Errorf("the debug information of build %s is missing: %w", id, err)
		}
	}
	if wrong != nil {
		f.storeErr.CompareAndSwap(nil, &wrong)
	}
	return ""
}

// storedCompanion returns the file with this one's debug information from a store, or nil.
func (f *File) storedCompanion() *File {
	if f.FirstSection(".debug_info", ".zdebug_info") != nil {
		return nil // it lacks a symbol table at most
	}
	id := f.BuildID()
	path := f.find(id)
	if path == "" {
		return nil
	}
	c := f.openCompanion(path)
	if c != nil && c.BuildID() != id {
		c.Close()
		return nil
	}
	return c
}
