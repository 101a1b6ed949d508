package export

import (
	"math"
	"strings"
)

// What makes a run of characters look random is not its entropy alone: a long
// name of a program has as much. Names have long runs of one kind of letter;
// random text changes its kind all the time. Both are asked.

const (
	doubtLength = 20  // of a run that can be a doubt, in bytes
	doubtBits   = 3.4 // of entropy per character, at least
)

// random tells whether a text looks drawn by lot.
func random(s string) bool {
	var count [256]int
	var low, up, dig, runs, digitRuns int
	last := byte(0)
	for i := range len(s) {
		c := s[i]
		count[c]++
		kind := byte(0)
		switch {
		case lower(c):
			low++
			kind = 'a'
		case upper(c):
			up++
			kind = 'A'
		case digit(c):
			dig++
			kind = '0'
		}
		if kind != last && kind != 0 && !(last == 'A' && kind == 'a') { // a capital begins its word
			runs++
			if kind == '0' {
				digitRuns++
			}
		}
		last = kind
	}
	letters := low + up
	if letters+dig < 12 || dig == 0 || letters == 0 {
		return false
	}
	bits := 0.0
	for _, c := range count {
		if c > 0 {
			p := float64(c) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	if bits < min(doubtBits, math.Log2(float64(len(s)))-0.9) {
		return false
	}
	run := float64(letters+dig) / float64(runs)
	if low > 2 && up > 2 {
		return run <= 2.4 || run <= 3.2 && digitRuns >= 3
	}
	return run <= 3.3 && digitRuns >= 4 && letters >= 6 || run <= 2.2 && digitRuns >= 3
}

// callIDs begin the ids that providers and programs give to calls, messages and
// answers. They are random and no secret.
var callIDs = []string{"call_", "toolu_", "srvtoolu_", "tooluse_", "msg_", "resp_", "rs_", "fc_", "ctc_", "ws_", "req_", "chatcmpl-", "gen-", "run_", "thread_", "asst_", "file-", "cmpl-", "att_", "ghcr_", "pk_live_", "pk_test_"}

// digests stand before a checksum.
var digests = []string{"sha1-", "sha256-", "sha384-", "sha512-", "h1:", "md5-", "sha256:", "sha512:", "SHA256:", "integrity="}

// publicKeys stand before the body of a public key.
var publicKeys = []string{"ssh-rsa ", "ssh-ed25519 ", "ecdsa-sha2-nistp256 ", "ecdsa-sha2-nistp384 ", "ecdsa-sha2-nistp521 ", "ssh-dss ", "base64,"}

func base64Byte(c byte) bool { return alnum(c) || c == '+' || c == '/' || c == '=' }

func doubtByte(c byte) bool { return base64Byte(c) || c == '_' || c == '-' }

// doubts finds what looks random and is explained by nothing.
func (f *finder) doubts() {
	public := f.public()
	for i := 0; i < len(f.text); {
		if !doubtByte(f.text[i]) {
			i++
			continue
		}
		end := span(f.text, i, doubtByte)
		if end-i >= doubtLength {
			start := i
			switch {
			case afterEscape(f.text[:i+1]):
				start++
			case i > 0 && f.text[i-1] == '%' && hexByte(f.text[i]) && hexByte(f.text[i+1]):
				start += 2 // an escaped character of an address
			}
			for len(public) > 0 && public[0][1] <= start {
				public = public[1:]
			}
			if known := len(public) > 0 && public[0][0] <= start; !known && !f.explained(start) {
				f.doubtsIn(start, end)
			}
		}
		i = end
	}
}

// explained looks at what stands before a run.
func (f *finder) explained(start int) bool {
	before := f.text[max(0, start-30):start]
	for _, list := range [][]string{digests, publicKeys} {
		for _, d := range list {
			if strings.HasSuffix(before, d) || strings.HasPrefix(f.text[start:], d) {
				return true
			}
		}
	}
	return false
}

// public lists the places of certificates and public keys, in order.
func (f *finder) public() (places [][2]int) {
	for at := 0; ; {
		i := strings.Index(f.text[at:], "-----BEGIN ")
		if i < 0 {
			return places
		}
		at += i + len("-----BEGIN ")
		rest := f.text[at:]
		if !strings.HasPrefix(rest, "CERTIFICATE") && !strings.HasPrefix(rest, "PUBLIC KEY") && !strings.HasPrefix(rest, "PGP PUBLIC KEY") && !strings.HasPrefix(rest, "RSA PUBLIC KEY") && !strings.HasPrefix(rest, "PGP SIGNATURE") {
			continue
		}
		end := strings.Index(rest, "-----END ")
		if end < 0 {
			end = len(rest)
		}
		places = append(places, [2]int{at, at + end})
		at += end
	}
}

// doubtsIn looks at the parts of a run: paths and lists are split, and a name and
// its value too.
func (f *finder) doubtsIn(start, end int) {
	run := f.text[start:end]
	sep := byte('=')
	if strings.Count(run, "/") > 1+len(run)/24 || strings.HasPrefix(run, "/") {
		sep = '/' // a path; base64 has a slash in 32 characters
	}
	from := start
	for i := start; i <= end; i++ {
		if i < end && f.text[i] != '=' && (sep != '/' || f.text[i] != '/') {
			continue
		}
		if i-from >= doubtLength && suspicious(f.text[from:i]) {
			f.add(RuleDoubt, from, i)
		}
		from = i + 1
	}
}

// suspicious judges one part.
func suspicious(s string) bool {
	for _, id := range callIDs {
		if strings.HasPrefix(s, id) {
			return false
		}
	}
	if uuid(s) || !random(s) {
		return false
	}
	longest := 0
	for i := 0; i < len(s); {
		end := span(s, i, alnum)
		if part := s[i:end]; end-i > longest && span(part, 0, hexByte) != len(part) {
			longest = end - i
		}
		i = end + 1
	}
	return longest >= 12
}

// uuid tells whether a text is a UUID, alone or with words around it.
func uuid(s string) bool {
	parts := strings.Split(s, "-")
	for i := 0; i+5 <= len(parts); i++ {
		ok := true
		for j, n := range []int{8, 4, 4, 4, 12} {
			p := parts[i+j]
			ok = ok && len(p) >= n && (len(p) == n || i+j == 0 || j == 4) && span(p[max(0, len(p)-n):], 0, hexByte) >= min(n, len(p))
		}
		if ok {
			return true
		}
	}
	return false
}
