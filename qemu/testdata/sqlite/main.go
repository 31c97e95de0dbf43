// Sqlite keeps values with SQLite, in a file that it maps and locks.
package main

import (
	"database/sql"
	"fmt"
	"os"

	_ "modernc.org/sqlite"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	dir, err := os.MkdirTemp("", "sqlite")
	must(err)
	defer os.RemoveAll(dir)
	for _, mode := range []string{"delete", "wal"} {
		path := dir + "/" + mode + ".db?_pragma=mmap_size(1000000000)&_pragma=busy_timeout(0)&_pragma=journal_mode(" + mode + ")"
		db, err := sql.Open("sqlite", path)
		must(err)
		db.SetMaxOpenConns(1)
		exec := func(db *sql.DB, q string, args ...any) error { _, err := db.Exec(q, args...); return err }
		must(exec(db, "create table t(a integer primary key, b text)"))
		for i := range 5 {
			tx, err := db.Begin()
			must(err)
			for j := range 200 {
				_, err = tx.Exec("insert into t values(?, ?)", i*200+j, fmt.Sprint("value ", j*j))
				must(err)
			}
			must(tx.Commit())
		}
		second, err := sql.Open("sqlite", path)
		must(err)
		must(exec(db, "begin immediate"))
		fmt.Println(mode, "locked out:", exec(second, "insert into t values(-1, 'x')"))
		must(exec(db, "update t set b = 'other' where a % 7 = 0"))
		must(exec(db, "delete from t where a % 11 = 0"))
		must(exec(db, "commit"))
		must(db.Close())
		var n, sum int
		var check, mapped string
		must(second.QueryRow("select count(*), sum(a * length(b)) from t").Scan(&n, &sum))
		must(second.QueryRow("pragma integrity_check").Scan(&check))
		must(second.QueryRow("pragma mmap_size").Scan(&mapped))
		must(second.Close())
		fmt.Println(mode, n, sum, check, mapped)
	}
}
