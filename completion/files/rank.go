package files

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/junegunn/fzf/src/algo"
	"github.com/junegunn/fzf/src/util"
)

// How well a path matches, the best last. Within a class the greater score goes
// first: points for what the session has mentioned or what has changed lately, for
// capitals where they were typed, and in the classes that leave letters out, those
// of fzf, which prefers beginnings of words and letters that stand together. Then
// files before folders, short names, few folders, short paths, and the alphabet.
//
// Of a query with a slash, what stands behind the last one is looked for in the
// name and the rest in the folder; where the folder is named whole, the classes of
// the name count above all others.
const (
	classNone        = iota
	classPath        // the letters occur over the whole path
	classFolder      // a folder's name holds the query
	classFolderBegin // a folder's name begins with it
	classLetters     // the name has the letters in order
	classHeld        // the name holds the query
	classWord        // a word of the name begins with it
	classBegin       // the name begins with it
	classStem        // the name without its extension is the query
	classExact       // the name is the query

	classDeep // added where the folder is named whole
)

const (
	maxScore   = 1<<13 - 1
	pointsCase = 40 // capitals as typed
)

// key orders hits: the greater goes first.
type key uint64

// makeKey packs a rank. Equal keys are ordered by the path.
func makeKey(class, score int, folder bool, nameLen, depth, pathLen int) key {
	isFile := 1
	if folder {
		isFile = 0
	}
	k := uint64(class)
	k = k<<13 | uint64(min(max(score, 0), maxScore))
	k = k<<1 | uint64(isFile)
	k = k<<8 | uint64(255-min(nameLen, 255))
	k = k<<6 | uint64(63-min(depth, 63))
	k = k<<12 | uint64(4095-min(pathLen, 4095))
	return key(k)
}

// bestKey is more than any key of a class with at most so many points.
func bestKey(class, score int) key { return makeKey(class, score, false, 0, 0, 0) }

func init() { algo.Init("path") } // the library's tables are global; nobody else of ours uses it

// scorer holds what one goroutine needs.
type scorer struct {
	q    *query
	slab *util.Slab
	buf  [256]byte
	full []byte

	table table
	begun table // what the path of a folder fills of it
	of    *dir  // the folder that begun is of
}

func newScorer(q *query) *scorer {
	return &scorer{q: q, slab: util.MakeSlab(maxTable, 2048)}
}

// maxTable is how large fzf's table may be, in cells; above it fzf takes a way that is
// less exact.
const maxTable = 32 * 1024

// fuzzy is fzf's score of a pattern in a text, or -1. The text is as written where
// it is ASCII, so that capitals count as beginnings of words.
func (s *scorer) fuzzy(text string, pattern []rune) int {
	if len(pattern) > 1 && len(text)*len(pattern) <= maxTable {
		s.table.start(pattern)
		s.table.read(text)
		return s.table.score()
	}
	return s.library(text, pattern)
}

// library is fuzzy by fzf itself.
func (s *scorer) library(text string, pattern []rune) int {
	chars := util.ToChars(bytesOf(text))
	res, _ := algo.FuzzyMatchV2(false, false, true, &chars, pattern, false, s.slab)
	if res.Start < 0 {
		return -1
	}
	return res.Score
}

// most is an upper bound of fuzzy for a pattern of n characters: 16 for each, a
// bonus of at most 9, and the first one's twice.
func most(n int) int { return min(25*n+9, maxScore) }

// nameClass is the class of a name, given as written and as searched. Scores of
// classLetters come from fuzzy.
func (q *query) nameClass(name, folded string) int {
	pattern := q.name
	if pattern == "" {
		return classBegin // all that a folder holds
	}
	at := strings.Index(folded, pattern)
	switch {
	case at < 0:
		if !inOrder(folded, q.nameR, q.ascii) {
			return classNone
		}
		return classLetters
	case at == 0 && len(folded) == len(pattern):
		return classExact
	case at == 0 && folded[len(pattern)] == '.' && strings.IndexByte(folded[len(pattern)+1:], '.') < 0:
		return classStem
	case at == 0:
		return classBegin
	}
	same := len(name) == len(folded) // then places are the same in both
	for {
		if startsAWord(folded, at) || same && startsAHump(name, at) {
			return classWord
		}
		next := strings.Index(folded[at+1:], pattern)
		if next < 0 {
			return classHeld
		}
		at += 1 + next
	}
}

// startsAWord says that what stands before a place is no letter and no digit, or
// that a number begins or ends there.
func startsAWord(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	here, _ := utf8.DecodeRuneInString(text[at:])
	if !unicode.IsLetter(before) && !unicode.IsNumber(before) {
		return unicode.IsLetter(here) || unicode.IsNumber(here)
	}
	return unicode.IsNumber(before) != unicode.IsNumber(here)
}

// startsAHump says that a capital follows a small letter: fooBar.
func startsAHump(text string, at int) bool {
	return at > 0 && text[at] >= 'A' && text[at] <= 'Z' && text[at-1] >= 'a' && text[at-1] <= 'z'
}

// caseScore gives points where the capitals that were typed are there.
func (q *query) caseScore(d *dir, name string) int {
	if q.typed == "" {
		return 0
	}
	at := strings.LastIndexByte(q.typed, '/')
	if !strings.Contains(name, q.typed[at+1:]) && !inOrder(name, []rune(q.typed[at+1:]), false) {
		return 0
	}
	if at >= 0 && !strings.Contains(d.path, q.typed[:at]) {
		return 0
	}
	return pointsCase
}

// place is what a query finds in a folder's path, for all that the folder holds.
type place struct {
	k     int // characters of the query that the path and its slash have
	class int // of the folder for a query without a slash
	deep  int // how well the folder of a query with one fits
}

// How well a folder fits what stands before the last slash of a query.
const (
	deepNot     = iota
	deepLetters // the letters occur in order
	deepHeld    // it holds the text
	deepBelow   // it lies below a folder of that name
	deepEnd     // its path ends so
	deepWhole   // it is that path
)

// reach is how many characters of the query a folder's path and its slash have.
func (q *query) reach(folded string) int {
	if folded == "" {
		return 0
	}
	k := q.advance(folded, 0)
	if k < len(q.runes) && q.runes[k] == '/' {
		k++
	}
	return k
}

// at looks at a folder's path, given as it is searched.
func (q *query) at(folded string) place { return q.atReached(folded, q.reach(folded)) }

func (q *query) atReached(folded string, k int) (p place) {
	p.k = k
	if !q.slash {
		if q.text == "" || folded == "" {
			return p
		}
		for at := strings.Index(folded, q.text); at >= 0; {
			p.class = classFolder
			if at == 0 || folded[at-1] == '/' {
				p.class = classFolderBegin
				break
			}
			next := strings.Index(folded[at+1:], q.text)
			if next < 0 {
				break
			}
			at += 1 + next
		}
		return p
	}
	if want := q.folder; folded != "" {
		switch at := strings.Index(folded, want); {
		case want == "":
			p.deep = deepLetters
		case folded == want:
			p.deep = deepWhole
		case strings.HasSuffix(folded, want) && folded[len(folded)-len(want)-1] == '/':
			p.deep = deepEnd
		case at == 0 && folded[len(want)] == '/' || strings.Contains(folded, "/"+want+"/"):
			p.deep = deepBelow
		case at >= 0:
			p.deep = deepHeld
		case q.advance(folded, 0) >= utf8.RuneCountInString(want):
			p.deep = deepLetters
		}
	}
	return p
}

// bound is the greatest key that a file of the folder with a mask can have, with at
// most so many points besides fzf's; 0 where it cannot match.
func (q *query) bound(p place, mask uint64, points int) key {
	if need := q.suffix[p.k]; mask&need != need {
		return 0
	}
	if q.text == "" {
		return bestKey(classPath, points)
	}
	class, score := classPath, points+most(len(q.runes))
	if p.class > class {
		class, score = p.class, points
	}
	if mask&q.nameM == q.nameM && (!q.slash || p.deep > 0) {
		class, score = classExact, points
		if p.deep >= deepEnd {
			class += classDeep
		}
		score += most(len(q.nameR)) + pointsCase
	}
	return bestKey(class, min(score+pointsCase, maxScore))
}

// hit is a file, or with i < 0 a folder itself.
type hit struct {
	key  key
	d    *dir
	i    int
	path string // of a hit that ties were broken with
}

func (h *hit) pathOf() string {
	if h.path == "" {
		if h.i < 0 {
			h.path = h.d.path
		} else {
			h.path = h.d.pathOf(h.i)
		}
	}
	return h.path
}

// better says that a goes before b.
func better(a, b *hit) bool {
	if a.key != b.key {
		return a.key > b.key
	}
	return a.pathOf() < b.pathOf()
}

// plainest is a text as written where it is ASCII, else as it is searched.
func plainest(text, folded string) string {
	if isASCII(text) {
		return text
	}
	return folded
}

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}

// rank is the key of an entry of a folder that the query found at p, or 0 where it
// does not match. points are its own; below is a key of which everything less is
// of no use: then 0 may come back too.
func (s *scorer) rank(d *dir, parent, parentFold, name, folded string, p place, isFolder bool, points int, below key) key {
	q := s.q
	if q.advance(folded, p.k) < len(q.runes) {
		return 0
	}
	depth, pathLen := int(d.depth), len(d.path)+1+len(name)
	if isFolder {
		depth, pathLen = int(d.depth)-1, len(d.path)
	}
	nameLen := utf8.RuneCountInString(name)
	if q.name == "" {
		nameLen, pathLen = 0, 0 // a listing: by the alphabet
	}
	if q.text == "" {
		return makeKey(classPath, points, isFolder, nameLen, depth, pathLen)
	}
	if q.accent != "" && !q.accented(join(parent, name)) {
		return 0
	}
	class, score := classNone, points
	if !q.slash || p.deep > 0 {
		class = q.nameClass(name, folded)
	}
	if class > classNone {
		score += q.caseScore(d, name)
		lettersOnly := class == classLetters
		if p.deep >= deepEnd {
			class += classDeep
		}
		score += p.deep
		if lettersOnly {
			if bestKey(class, score+most(len(q.nameR))) < below {
				return 0
			}
			score += max(s.fuzzy(plainest(name, folded), q.nameR), 0)
		}
		return makeKey(class, score, isFolder, nameLen, depth, pathLen)
	}
	if p.class > classNone {
		return makeKey(p.class, score, isFolder, nameLen, depth, pathLen)
	}
	if bestKey(classPath, score+most(len(q.runes))) < below {
		return 0
	}
	score += max(s.whole(d, plainest(parent, parentFold), plainest(name, folded), isFolder), 0)
	return makeKey(classPath, score, isFolder, nameLen, depth, pathLen)
}

// whole is the score of the query in a whole path. The files of a folder come one after
// the other, and what its path adds is worked out once.
func (s *scorer) whole(d *dir, parent, name string, isFolder bool) int {
	q := s.q
	if isFolder || parent == "" || len(q.runes) < 2 || (len(parent)+1+len(name))*len(q.runes) > maxTable {
		s.full = s.full[:0]
		if parent != "" {
			s.full = append(append(s.full, parent...), '/')
		}
		s.full = append(s.full, name...)
		return s.fuzzy(view(s.full), q.runes)
	}
	if s.of != d {
		s.of = d
		s.begun.start(q.runes)
		s.begun.read(parent)
		s.begun.read("/")
	}
	s.table.set(&s.begun)
	s.table.read(name)
	return s.table.score()
}
