package receive

import (
	"cmp"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/crypto/chacha20"
	"golang.org/x/crypto/chacha20poly1305"

	"github.com/zeroframe/zeroframe/tracer/dump"
)

// The receiver's side of package tracer/seal, by Go's own packages.

// NewKey makes a private key, writes it to a new file that only its owner may read, and returns
// what a machine is to be told: its public key, in hexadecimal.
func NewKey(path string) (public string, err error) {
	k, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "%x\n", k.Bytes())
	if err = cmp.Or(err, f.Close()); err != nil {
		os.Remove(path)
	}
	return hex.EncodeToString(k.PublicKey().Bytes()), err
}

// ReadKey reads a file that [NewKey] has written.
func ReadKey(path string) (*ecdh.PrivateKey, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	raw, err := hex.DecodeString(strings.TrimSpace(string(b)))
	if err == nil {
		var k *ecdh.PrivateKey
		if k, err = ecdh.X25519().NewPrivateKey(raw); err == nil {
			return k, nil
		}
	}
	return nil, fmt.Errorf("%s is no private key: want what zf receive -new-key writes", path)
}

// A Session opens and seals the packets of one dump.
type Session struct{ out, in cipher.AEAD }

// NewSession begins the session of a dump that is announced as sealed.
func NewSession(private *ecdh.PrivateKey, a *dump.Announce) (*Session, error) {
	theirs, err := ecdh.X25519().NewPublicKey(a.Key[:])
	if err != nil {
		return nil, err
	}
	k, err := private.ECDH(theirs)
	if err != nil {
		return nil, err
	}
	ours := private.PublicKey().Bytes()
	for _, part := range [][]byte{[]byte("zfd1 memory dump"), a.Key[:16], a.Key[16:],
		ours[:16], ours[16:]} {
		if k, err = chacha20.HChaCha20(k, part); err != nil {
			return nil, err
		}
	}
	s := new(Session)
	for _, way := range []struct {
		name string
		to   *cipher.AEAD
	}{{"machine:receiver", &s.out}, {"receiver:machine", &s.in}} {
		key, err := chacha20.HChaCha20(k, []byte(way.name))
		if err != nil {
			return nil, err
		}
		if *way.to, err = chacha20poly1305.New(key); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// sealedWith is how much of a header is authenticated.
const sealedWith = 24

// nonce is that of a packet: the number of the packet, then that of the item.
func nonce(p []byte) []byte {
	n := make([]byte, chacha20poly1305.NonceSize)
	copy(n, p[20:24])
	copy(n[4:], p[16:20])
	return n
}

// ErrSeal is returned for a packet that was not sealed with the key.
var ErrSeal = errors.New("a packet was not sealed for this receiver")

// Open opens the body of a packet in place.
func (s *Session) Open(p []byte) (body []byte, err error) {
	b := p[dump.HeaderSize:]
	if body, err = s.out.Open(b[:0], nonce(p), b, p[:sealedWith]); err != nil {
		return nil, ErrSeal
	}
	return body, nil
}

// Finish writes a packet of the receiver's, whose body of n bytes is in p, and returns its length.
// The number must not come again in the session.
func (s *Session) Finish(p []byte, h dump.Header, n int, number uint64) int {
	h.Item, h.Sent = uint32(number>>32), uint32(number)
	length := dump.Finish(p, &h, n+s.in.Overhead()) // whose header it is
	b := p[dump.HeaderSize:]
	s.in.Seal(b[:0], nonce(p), b[:n], p[:sealedWith])
	dump.FinishAgain(p, length)
	return length
}
