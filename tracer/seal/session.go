package seal

// The keys of a dump. The shared secret goes through HChaCha20 with a name, then with both public
// keys, so that the keys depend on everything that was agreed on, and then with the name of a
// direction.

// A Session has a key for each direction.
type Session struct{ Out, In Key }

// The names of the protocol and of the directions.
const (
	nameProtocol = "zfd1 memory dump"
	nameOut      = "machine:receiver"
	nameIn       = "receiver:machine"
)

// Begin derives the keys of a machine for a receiver with the given public key. private is the
// machine's private key, made for this one dump. It returns the machine's public key; ok is false
// if the receiver's key is invalid.
func (s *Session) Begin(private, receiver *[PointSize]byte) (public [PointSize]byte, ok bool) {
	public = X25519(private, &Base)
	shared := X25519(private, receiver)
	zero := byte(0)
	for _, v := range shared {
		zero |= v
	}
	var k Key
	k.SetBytes(shared[:])
	var part [16]byte
	set(&part, nameProtocol)
	k = Derive(&k, &part)
	for _, p := range [...]*[PointSize]byte{&public, receiver} {
		for half := 0; half < PointSize; half += 16 {
			for i := range len(part) {
				part[i] = p[half+i]
			}
			k = Derive(&k, &part)
		}
	}
	set(&part, nameOut)
	s.Out = Derive(&k, &part)
	set(&part, nameIn)
	s.In = Derive(&k, &part)
	return public, zero != 0
}

func set(part *[16]byte, name string) {
	for i := range len(part) {
		part[i] = name[i]
	}
}
