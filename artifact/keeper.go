package artifact

import (
	"bufio"
	"fmt"
	"unicode/utf8"
)

// tailOfLimited is how much of the end of an output is kept that is longer than
// the store allows, in bytes. It is held in memory until the output ends.
const tailOfLimited = 1 << 20

// keeper writes an output into its artifact: all of it, or where it is longer than
// the limit its beginning and its end.
type keeper struct {
	o    *output
	w    *bufio.Writer
	head int64 // bytes of the beginning, once the output is too long
	most int64 // bytes of all; < 0 for no limit

	total  int64
	held   []byte // behind the beginning, at least the last most-head bytes
	elided bool   // something between them is not kept
}

func newKeeper(o *output, opts SinkOptions) *keeper {
	k := &keeper{o: o, w: bufio.NewWriterSize(o.file, 256<<10), most: o.limit}
	if opts.MaxArtifact > 0 && (k.most < 0 || opts.MaxArtifact < k.most) {
		k.most = opts.MaxArtifact
	}
	k.head = k.most - min(tailOfLimited, k.most/2)
	if opts.ArtifactHead > 0 {
		k.head = min(opts.ArtifactHead, k.most)
	}
	return k
}

func (k *keeper) write(text []byte) error {
	k.total += int64(len(text))
	if k.most < 0 {
		return k.put(text)
	}
	if room := k.head - k.o.size; room > 0 && len(k.held) == 0 {
		first := text
		if int64(len(text)) > room {
			first = headBytes(text, int(room))
		}
		if err := k.put(first); err != nil {
			return err
		}
		if text = text[len(first):]; len(text) == 0 {
			return nil
		}
		k.head = k.o.size // a rune that would be cut goes to the end
	}
	k.held = append(k.held, text...)
	if keep := int(k.most-k.head) + utf8.UTFMax; len(k.held) > 2*keep+64<<10 {
		k.held = k.held[:copy(k.held, k.held[len(k.held)-keep:])]
	}
	return nil
}

func (k *keeper) put(text []byte) error {
	n, err := k.w.Write(text)
	k.o.size += int64(n)
	return err
}

// finish writes the end and syncs. On error the artifact is taken away and the
// failed step is named.
func (k *keeper) finish() (step string, err error) {
	end := k.held
	if k.most >= 0 {
		end = tailBytes(end, int(k.most-k.head))
	}
	if elided := k.total - k.o.size - int64(len(end)); elided > 0 {
		k.elided = true
		marker := fmt.Sprintf("\n[ARTIFACT TRUNCATED: kept first %s + last %s of %s; %s elided from the middle]\n",
			Size(k.o.size), Size(int64(len(end))), Size(k.total), Size(elided))
		err = k.put([]byte(marker))
	}
	if err == nil {
		err = k.put(end)
	}
	if err == nil {
		err = k.w.Flush()
	}
	if err != nil {
		k.discard()
		return "flush", err
	}
	if err := k.o.finish(); err != nil {
		_ = k.o.store.forget(k.o.name)
		return "end", err
	}
	return "", nil
}

func (k *keeper) discard() { k.o.discard() }

// forget takes a file away that did not become durable.
func (s *Store) forget(name string) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	defer f.close()
	return f.fs.Remove(name)
}
