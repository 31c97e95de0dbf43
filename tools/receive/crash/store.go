package crash

// The store: one bbolt file. It is open, and so locked, only while something is read or
// written, so that `zf receive -groups` can look into it while a receiver runs, and two
// receivers can share it.
//
// Buckets:
//
//	groups  fingerprint -> Group, as JSON
//	seen    ID -> number, in 8 bytes, highest first
//	order   number -> ID: the IDs by age, so that the oldest can be forgotten
//	spool   number -> Crash, as JSON: what is to be exported

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sort"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Limits of a store.
const (
	// MaxSeen is the number of crashes of which it is remembered that they were
	// counted.
	MaxSeen = 1 << 17
	// MaxGroups is the number of groups. The one that was seen least recently gives way.
	MaxGroups = 1 << 16
	// MaxSpooled is the number of crashes that wait for their export. When as many wait,
	// new ones are counted as not spooled: the disk is not theirs.
	MaxSpooled = 1 << 20

	lockWait = 10 * time.Second
)

var (
	groupsBucket = []byte("groups")
	seenBucket   = []byte("seen")
	orderBucket  = []byte("order")
	spoolBucket  = []byte("spool")
)

// ErrNoStore is returned by Groups when there is no such file.
var ErrNoStore = errors.New("there is no store of crashes")

// Store is a store. It is safe for concurrent use, also by other processes.
type Store struct {
	path string
	temp bool
	lock chan struct{} // one transaction at a time: the file's lock is for processes

	damaged            error // the file cannot be used any more
	maxSeen, maxGroups uint64
}

// DefaultPath returns where a receiver keeps its store if it is not told.
func DefaultPath() (string, error) {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(dir, "zeroframe", "crashes.db"), nil
}

// Open opens the store, and makes it if it is not there. With an empty path it lives
// until Close.
func Open(path string) (*Store, error) {
	s := newStore(path)
	if path == "" {
		file, err := os.CreateTemp("", "zf-crashes-*.db")
		if err != nil {
			return nil, err
		}
		file.Close()
		s.path, s.temp = file.Name(), true
	} else if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	err := s.update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{groupsBucket, seenBucket, orderBucket, spoolBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func newStore(path string) *Store {
	return &Store{path: path, lock: make(chan struct{}, 1), maxSeen: MaxSeen, maxGroups: MaxGroups}
}

// Close removes a store without a path.
func (s *Store) Close() error {
	if s.temp {
		return os.Remove(s.path)
	}
	return nil
}

// update runs a transaction that writes. A damaged file is an error, and stays as it is.
func (s *Store) update(f func(*bolt.Tx) error) error {
	return s.with(false, func(db *bolt.DB) error { return db.Update(f) })
}

func (s *Store) view(f func(*bolt.Tx) error) error {
	return s.with(true, func(db *bolt.DB) error { return db.View(f) })
}

func (s *Store) with(readOnly bool, f func(*bolt.DB) error) (err error) {
	s.lock <- struct{}{}
	defer func() { <-s.lock }()
	if s.damaged != nil {
		return s.damaged
	}
	// On damaged pages the database panics, or reads behind the end of its mapping. It
	// may have locked the file by then, for good.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			s.damaged = fmt.Errorf("store %s: damaged: %v; move it away to begin anew", s.path, r)
			err = s.damaged
		}
	}()
	db, err := bolt.Open(s.path, 0o600, &bolt.Options{Timeout: lockWait, ReadOnly: readOnly, NoSync: s.temp, FreelistType: bolt.FreelistMapType})
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("store %s: %w", s.path, err)
	case err != nil: // bbolt has no one error for what is not its file
		return fmt.Errorf("store %s: %w; if it is damaged, or no store, move it away to begin anew", s.path, err)
	}
	defer db.Close()
	if err := f(db); err != nil {
		return fmt.Errorf("store %s: %w", s.path, err)
	}
	return nil
}

// Added says what became of a crash.
type Added struct {
	// Count is the number of crashes of its group, this one included, and First the
	// time of the first one.
	Count uint64
	First time.Time
	// Known is set for a crash that was there before: it was not counted again.
	Known bool
	// Full is set if it was to be exported and there was no room.
	Full bool
}

// Add counts crashes and, with export set, puts those that ended a kernel into the spool
// in the same transaction.
func (s *Store) Add(crashes []*Crash, export bool) ([]Added, error) {
	added := make([]Added, len(crashes))
	err := s.update(func(tx *bolt.Tx) error {
		groups, seen, order := tx.Bucket(groupsBucket), tx.Bucket(seenBucket), tx.Bucket(orderBucket)
		spool := tx.Bucket(spoolBucket)
		spooled := -1
		open := make(map[string]*Group) // crashes that come together are often alike
		for i, c := range crashes {
			g := open[c.Fingerprint]
			if g == nil {
				var err error
				if g, err = readGroup(groups, c.Fingerprint); err != nil {
					return err
				}
				open[c.Fingerprint] = g
			}
			known := seen.Get([]byte(c.ID)) != nil
			if !known {
				if g.Count == 0 { // the number of groups: to count them takes time
					if err := groups.SetSequence(groups.Sequence() + 1); err != nil {
						return err
					}
				}
				g.add(c)
				n, err := order.NextSequence()
				if err != nil {
					return err
				}
				if err := errors.Join(order.Put(key(n), []byte(c.ID)), seen.Put([]byte(c.ID), key(n))); err != nil {
					return err
				}
				if n > s.maxSeen {
					if err := forgetSeen(seen, order, n-s.maxSeen); err != nil {
						return err
					}
				}
				if export && c.Fatal {
					if spooled < 0 {
						spooled = spoolLen(spool)
					}
					if spooled >= MaxSpooled {
						added[i].Full = true
					} else {
						spooled++
						n, err := spool.NextSequence()
						if err != nil {
							return err
						}
						if err := putJSON(spool, key(n), c); err != nil {
							return err
						}
					}
				}
			}
			added[i].Count, added[i].First, added[i].Known = g.Count, g.First, known
		}
		for fingerprint, g := range open {
			if g.Count == 0 {
				continue // its crashes were counted before, and it has given way since
			}
			if err := putJSON(groups, []byte(fingerprint), g); err != nil {
				return err
			}
		}
		return s.limitGroups(groups)
	})
	return added, err
}

// forgetSeen forgets the IDs up to a number.
func forgetSeen(seen, order *bolt.Bucket, upTo uint64) error {
	c := order.Cursor()
	for k, id := c.First(); k != nil && binary.BigEndian.Uint64(k) <= upTo; k, id = c.First() {
		if err := errors.Join(seen.Delete(id), order.Delete(k)); err != nil {
			return err
		}
	}
	return nil
}

// limitGroups forgets an eighth of the groups, the oldest, when there are too many.
func (s *Store) limitGroups(groups *bolt.Bucket) error {
	if groups.Sequence() <= s.maxGroups {
		return nil
	}
	all, err := readGroups(groups)
	if err != nil {
		return err
	}
	keep := s.maxGroups - s.maxGroups/8
	for _, g := range all[min(keep, uint64(len(all))):] {
		if err := groups.Delete([]byte(g.Fingerprint)); err != nil {
			return err
		}
	}
	return groups.SetSequence(keep)
}

func key(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func putJSON(b *bolt.Bucket, k []byte, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return b.Put(k, data)
}

// readGroup returns a group, an empty one if it is not there.
func readGroup(groups *bolt.Bucket, fingerprint string) (*Group, error) {
	g := new(Group)
	data := groups.Get([]byte(fingerprint))
	if data == nil {
		return g, nil
	}
	if err := json.Unmarshal(data, g); err != nil {
		return nil, fmt.Errorf("group %s: %w", fingerprint, err)
	}
	return g, nil
}

// readGroups returns all groups, the latest first.
func readGroups(groups *bolt.Bucket) ([]Group, error) {
	var all []Group
	err := groups.ForEach(func(k, data []byte) error {
		var g Group
		if err := json.Unmarshal(data, &g); err != nil {
			return fmt.Errorf("group %q: %w", k, err)
		}
		all = append(all, g)
		return nil
	})
	sort.SliceStable(all, func(i, j int) bool { return all[i].Last.After(all[j].Last) })
	return all, err
}

// Groups returns the groups of a store, the latest first, without changing it.
func Groups(path string) ([]Group, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoStore, path)
	}
	s := newStore(path)
	var all []Group
	err := s.view(func(tx *bolt.Tx) error {
		groups := tx.Bucket(groupsBucket)
		if groups == nil {
			return errors.New("it is no store of crashes")
		}
		var err error
		all, err = readGroups(groups)
		return err
	})
	return all, err
}

// Spooled is a crash in the spool.
type Spooled struct {
	Number uint64
	Crash  Crash
}

// Oldest returns up to n crashes of the spool, the oldest first.
func (s *Store) Oldest(n int) (list []Spooled, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(spoolBucket).Cursor()
		for k, data := c.First(); k != nil && len(list) < n; k, data = c.Next() {
			var one Spooled
			if err := json.Unmarshal(data, &one.Crash); err != nil || len(k) != 8 {
				return fmt.Errorf("spooled crash %x: %v", k, err)
			}
			one.Number = binary.BigEndian.Uint64(k)
			list = append(list, one)
		}
		return nil
	})
	return list, err
}

// Remove takes crashes out of the spool: they have been exported.
func (s *Store) Remove(list []Spooled) error {
	return s.update(func(tx *bolt.Tx) error {
		spool := tx.Bucket(spoolBucket)
		for _, one := range list {
			if err := spool.Delete(key(one.Number)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Waiting returns the number of crashes in the spool.
func (s *Store) Waiting() (n int, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		n = spoolLen(tx.Bucket(spoolBucket))
		return nil
	})
	return n, err
}

// spoolLen is the number of crashes in the spool. They leave it from its beginning, so
// the first and the last number tell.
func spoolLen(spool *bolt.Bucket) int {
	first, _ := spool.Cursor().First()
	last, _ := spool.Cursor().Last()
	if first == nil {
		return 0
	}
	return int(binary.BigEndian.Uint64(last)-binary.BigEndian.Uint64(first)) + 1
}
