// Package s3 is a blob.Store in a bucket of any server that speaks S3. It passes
// the suite of blob/blobtest against a real server.
//
// Objects are kept under "<prefix>blob/<key>", as pi-web keeps them. A conditional
// put is the server's own (If-None-Match), so it holds between machines. An upload
// of unknown length is sent in parts: two parts (32 MiB) are in memory at most,
// and one that breaks off is never an object.
//
// What may be touched here: the one bucket. Credentials come from variables that
// the configuration names, never from the process's own for other programs, and
// are in no error. No type of the client leaves the package.
package s3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/blob"
)

// partSize is the unit of an upload whose length is not known, in bytes.
const partSize = 16 << 20

// retries is how often a request is tried before it fails.
const retries = 3

// Config says where the bucket is.
type Config struct {
	Bucket    string
	Region    string // "" for us-east-1
	Endpoint  string // an address, "" for Amazon's
	Prefix    string // of all keys
	PathStyle bool   // the bucket is in the path, not in the host name
	AccessKey string
	SecretKey string
	Session   string // token of temporary credentials, or ""
}

// Store is a bucket. It is safe for concurrent use.
type Store struct {
	core      minio.Core
	bucket    string
	prefix    string
	transport *http.Transport
}

var (
	_ blob.Store     = (*Store)(nil)
	_ blob.Presigner = (*Store)(nil)
)

// New makes a store. It asks nothing yet: a bucket that is not there is found out
// by the first request.
func New(c Config) (*Store, error) {
	if c.Bucket == "" {
		return nil, errors.New("s3: no bucket is named")
	}
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	host, secure := "s3.amazonaws.com", true
	if c.Endpoint != "" {
		u, err := url.Parse(c.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
			return nil, fmt.Errorf("s3: the endpoint %q is no address such as https://host:port", c.Endpoint)
		}
		host, secure = u.Host, u.Scheme == "https"
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	lookup := minio.BucketLookupAuto
	if c.PathStyle {
		lookup = minio.BucketLookupPath
	}
	client, err := minio.New(host, &minio.Options{
		Creds: credentials.NewStaticV4(c.AccessKey, c.SecretKey, c.Session), Secure: secure, Region: c.Region,
		Transport: transport, BucketLookup: lookup, MaxRetries: retries,
	})
	if err != nil {
		return nil, fmt.Errorf("s3: %w", err)
	}
	return &Store{minio.Core{Client: client}, c.Bucket, c.Prefix + "blob/", transport}, nil
}

// Close gives idle connections back.
func (s *Store) Close() { s.transport.CloseIdleConnections() }

// Kind makes stores from a topology of attachments:
//
//	{"kind":"s3","name":"x","bucket":"b","region":"…","endpoint":"https://…","prefix":"…",
//	 "forcePathStyle":true,"accessKeyEnv":"X_KEY","secretKeyEnv":"X_SECRET","sessionTokenEnv":"X_TOKEN"}
var Kind = attachment.Kind{Name: "s3", Open: func(config json.RawMessage, lookup func(string) (string, bool)) (blob.Store, error) {
	var c struct {
		Bucket, Region, Endpoint, Prefix string
		ForcePathStyle                   bool
		AccessKeyEnv, SecretKeyEnv       string
		SessionTokenEnv                  string
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return nil, errors.New("s3: the configuration has a value of the wrong type")
	}
	get := func(field, name string) (string, error) {
		v, _ := lookup(name)
		if name == "" || v == "" {
			return "", fmt.Errorf("s3: %s must name a variable that is set; %q is none", field, name)
		}
		return v, nil
	}
	access, err := get("accessKeyEnv", c.AccessKeyEnv)
	if err != nil {
		return nil, err
	}
	secret, err := get("secretKeyEnv", c.SecretKeyEnv)
	if err != nil {
		return nil, err
	}
	token := ""
	if c.SessionTokenEnv != "" {
		if token, err = get("sessionTokenEnv", c.SessionTokenEnv); err != nil {
			return nil, err
		}
	}
	return New(Config{c.Bucket, c.Region, c.Endpoint, c.Prefix, c.ForcePathStyle, access, secret, token})
}}

func (s *Store) key(key string) string { return s.prefix + key }

func fail(op, key string, err error) error {
	switch r := minio.ToErrorResponse(err); {
	case r.Code == "NoSuchKey" || r.StatusCode == http.StatusNotFound && r.Code != "NoSuchBucket":
		err = blob.ErrNotFound
	case r.Code == "PreconditionFailed" || r.StatusCode == http.StatusPreconditionFailed:
		err = blob.ErrExists
	}
	return &blob.Error{Op: op, Key: key, Err: err}
}

// source hands bytes to the client and keeps the real error: the client takes
// io.ErrUnexpectedEOF, which a broken connection reports, for an end.
type source struct {
	r   io.Reader
	err error
}

var errSource = errors.New("s3: the source of an upload failed")

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
		return n, errSource
	}
	return n, err
}

// Put is blob.Store.Put.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, opts blob.PutOptions) (blob.Info, error) {
	if err := blob.CheckKey(key); err != nil {
		return blob.Info{}, fail("put", key, err)
	}
	if err := context.Cause(ctx); err != nil {
		return blob.Info{}, fail("put", key, err)
	}
	o := minio.PutObjectOptions{ContentType: opts.ContentType, PartSize: partSize, DisableContentSha256: true}
	if opts.IfAbsent {
		if _, err := s.Stat(ctx, key); err == nil {
			return blob.Info{}, fail("put", key, blob.ErrExists) // before anything is read
		}
		o.SetMatchETagExcept("*")
	}
	m := blob.Meter(ctx, r, opts)
	src := &source{r: m}
	// What fits into one part goes in one request, which is also the one whose
	// condition every server knows.
	first := bytes.NewBuffer(make([]byte, 0, 64<<10))
	_, err := io.CopyN(first, src, partSize)
	var info minio.UploadInfo
	switch {
	case src.err != nil:
	case err == io.EOF:
		info, err = s.core.Client.PutObject(ctx, s.bucket, s.key(key), bytes.NewReader(first.Bytes()), int64(first.Len()), o)
	case err == nil:
		info, err = s.core.Client.PutObject(ctx, s.bucket, s.key(key), io.MultiReader(first, src), -1, o)
	}
	if src.err != nil {
		if err == nil {
			_ = s.Delete(context.WithoutCancel(ctx), key)
		}
		return blob.Info{}, fail("put", key, src.err)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return blob.Info{}, fail("put", key, err)
	}
	at := info.LastModified
	if at.IsZero() {
		at = time.Now()
	}
	return blob.Info{Key: key, Size: m.Bytes(), ModTime: at}, nil
}

// Get is blob.Store.Get. Reading from another place is another request, for the
// same bytes: an object that was replaced meanwhile is an error and not a mixture.
func (s *Store) Get(ctx context.Context, key string) (*blob.Object, error) {
	if err := blob.CheckKey(key); err != nil {
		return nil, fail("get", key, err)
	}
	body, info, _, err := s.core.GetObject(ctx, s.bucket, s.key(key), minio.GetObjectOptions{})
	if err != nil {
		return nil, fail("get", key, err)
	}
	o := &object{s: s, ctx: ctx, key: key, etag: info.ETag, size: info.Size, body: body}
	return &blob.Object{ReadSeekCloser: o, Info: blob.Info{Key: key, Size: info.Size, ModTime: info.LastModified}}, nil
}

// object reads an object from any place on.
type object struct {
	s    *Store
	ctx  context.Context
	key  string
	etag string
	size int64
	at   int64 // where the next byte is read
	body io.ReadCloser
	from int64 // where body is
}

func (o *object) Read(p []byte) (int, error) {
	if o.at >= o.size {
		return 0, io.EOF
	}
	if o.body == nil || o.from != o.at {
		_ = o.Close()
		opts := minio.GetObjectOptions{}
		if err := opts.SetMatchETag(o.etag); err != nil {
			return 0, fail("get", o.key, err)
		}
		if o.at > 0 {
			if err := opts.SetRange(o.at, 0); err != nil {
				return 0, fail("get", o.key, err)
			}
		}
		body, _, _, err := o.s.core.GetObject(o.ctx, o.s.bucket, o.s.key(o.key), opts)
		if err != nil {
			return 0, fail("get", o.key, err)
		}
		o.body, o.from = body, o.at
	}
	n, err := o.body.Read(p)
	o.at += int64(n)
	o.from = o.at
	if err == io.EOF && o.at < o.size {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.size
	}
	if offset < 0 {
		return 0, errors.New("s3: a seek in front of the object")
	}
	o.at = offset
	return offset, nil
}

func (o *object) Close() error {
	if o.body == nil {
		return nil
	}
	err := o.body.Close()
	o.body = nil
	return err
}

// Stat is blob.Store.Stat.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	if err := blob.CheckKey(key); err != nil {
		return blob.Info{}, fail("stat", key, err)
	}
	info, err := s.core.Client.StatObject(ctx, s.bucket, s.key(key), minio.StatObjectOptions{})
	if err != nil {
		return blob.Info{}, fail("stat", key, err)
	}
	return blob.Info{Key: key, Size: info.Size, ModTime: info.LastModified}, nil
}

// Delete is blob.Store.Delete.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := blob.CheckKey(key); err != nil {
		return fail("delete", key, err)
	}
	err := s.core.Client.RemoveObject(ctx, s.bucket, s.key(key), minio.RemoveObjectOptions{})
	if err != nil {
		if err = fail("delete", key, err); errors.Is(err, blob.ErrNotFound) {
			return nil
		}
	}
	return err
}

// List is blob.Store.List.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[blob.Info, error] {
	return func(yield func(blob.Info, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		for o := range s.core.Client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.key(prefix), Recursive: true}) {
			if o.Err != nil {
				yield(blob.Info{}, fail("list", prefix, o.Err))
				return
			}
			key := strings.TrimPrefix(o.Key, s.prefix)
			if blob.CheckKey(key) != nil {
				continue // not ours
			}
			if !yield(blob.Info{Key: key, Size: o.Size, ModTime: o.LastModified}, nil) {
				return
			}
		}
		if err := context.Cause(ctx); err != nil {
			yield(blob.Info{}, fail("list", prefix, err))
		}
	}
}

// maxPresign is the longest life of a presigned address, by the protocol.
const maxPresign = 7 * 24 * time.Hour

// Presign is blob.Presigner.Presign; more than seven days are cut to them.
func (s *Store) Presign(ctx context.Context, key string, d time.Duration) (string, error) {
	if err := blob.CheckKey(key); err != nil {
		return "", fail("presign", key, err)
	}
	u, err := s.core.Client.PresignedGetObject(ctx, s.bucket, s.key(key), min(d, maxPresign), nil)
	if err != nil {
		return "", fail("presign", key, err)
	}
	return u.String(), nil
}
