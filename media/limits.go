package media

// Limits bound what is read, decoded and stored. The zero value of a field means
// the default.
type Limits struct {
	// Input is the most that a picture may have as it comes, in bytes,
	// inclusive. Default 5 MiB.
	Input int64
	// Side and Pixels bound what a header may announce, before anything is
	// decoded. Defaults 16384 and 50 million.
	Side, Pixels int
	// Memory bounds what decoding may take, in bytes, as far as a header tells.
	// Default 256 MiB.
	Memory int64
	// StoredSide is the longest side of what is stored, in pixels. Default 1999:
	// pi stores up to 2000, and requests with many pictures of 2000 have been
	// refused.
	StoredSide int
	// StoredBase64 is the first length of base64 text that is too long to be
	// stored, in characters. Default 4.5 MiB, as in pi.
	StoredBase64 int
}

// Default limits.
const (
	DefaultInput        = 5 << 20
	DefaultSide         = 16384
	DefaultPixels       = 50_000_000
	DefaultMemory       = 256 << 20
	DefaultStoredSide   = 1999
	DefaultStoredBase64 = 4608 << 10
)

func (l Limits) withDefaults() Limits {
	set(&l.Input, DefaultInput)
	set(&l.Side, DefaultSide)
	set(&l.Pixels, DefaultPixels)
	set(&l.Memory, DefaultMemory)
	set(&l.StoredSide, DefaultStoredSide)
	set(&l.StoredBase64, DefaultStoredBase64)
	return l
}

func set[N int | int64](field *N, otherwise N) {
	if *field <= 0 {
		*field = otherwise
	}
}

// base64Len is how many characters n bytes have as base64.
func base64Len(n int) int { return (n + 2) / 3 * 4 }
