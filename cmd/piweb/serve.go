package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/server"
	"github.com/piweb-go/piweb/web"
	"github.com/spf13/cobra"
)

// defaultPort is taken where it is free.
const defaultPort = 4820

type serveFlags struct {
	port    int
	listen  string
	hosts   []string
	ui      string
	verbose bool
	serveGuard
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the page on this machine (what `piweb` alone does)", Long: helpServe, Args: cobra.NoArgs,
		Example: "  piweb serve\n  piweb serve --port 8080 --ui ./their-page/dist",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.listen != "" && cmd.Flags().Changed("port") {
				return usage("--listen holds the port; leave --port out")
			}
			if err := f.check(); err != nil {
				return err
			}
			return a.serve(cmd.Context(), f, cmd.Flags().Changed("port"))
		},
	}
	cmd.Flags().IntVar(&f.port, "port", defaultPort, "port on the loopback interface; another free one is taken if the default is not free")
	cmd.Flags().StringVar(&f.listen, "listen", "", "address and port, such as 0.0.0.0:8443; beyond this machine it wants users and TLS")
	cmd.Flags().StringSliceVar(&f.hosts, "host", nil, "a further name by which the page is reached, for a proxy on this machine")
	cmd.Flags().StringVar(&f.ui, "ui", "", "serve this folder as the page instead of piweb's own")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log every request, without what people wrote")
	f.flags(cmd)
	return cmd
}

// serve runs until it is stopped by a signal: streams end, running prompts are
// stopped and kept.
func (a *app) serve(ctx context.Context, f serveFlags, portChosen bool) error {
	ctx, stop := signal.NotifyContext(ctx, stopSignals...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal does not wait for the grace
	debug.SetGCPercent(30)       // a server that stays open all day: little memory before a little time
	cfg := a.config()
	cfg.Reachable = true
	rt, err := piweb.New(cfg)
	if err != nil {
		return err
	}
	defer rt.Close()
	page, err := pageFS(f.ui)
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelInfo
	}
	log := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
	sc := server.Config{
		Runtime: rt, Page: page, InlineStyles: f.ui != "", Hosts: f.hosts, DefaultCWD: cwd(),
		AttachmentOrigins: attachmentOrigins(rt),
		DefaultSource:     os.Getenv("PI_WEB_DEFAULT_SOURCE"), Version: versionText(),
		NoManage:        slices.Contains([]string{"false", "0"}, os.Getenv("NEXT_PUBLIC_PI_WEB_SESSIONS_MANAGE")),
		HiddenProviders: strings.FieldsFunc(os.Getenv("PI_WEB_HIDE_PROVIDERS"), func(r rune) bool { return r == ',' || r == ' ' }),
		Demo:            func(ctx context.Context) (server.Demo, error) { return serverDemo(ctx, rt) },
		Log:             log,
	}
	ln, err := f.open(rt, &sc, f, portChosen)
	if err != nil {
		return err
	}
	s, err := server.New(sc)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer s.Close()
	tidied := a.tidyAttachments(ctx, rt)
	defer func() { stop(); <-tidied }()
	a.announce(linkOf(ln, sc, f.hosts), sc.Token == "")
	if err := s.Serve(ctx, ln); err != nil {
		return err
	}
	return rt.Close()
}

// announce says where the page is. Without a link, users sign in with their tokens.
func (a *app) announce(link string, users bool) {
	if a.json {
		a.printJSONLine(map[string]string{"type": "serving", "url": link})
		return
	}
	if users {
		a.printf("Serving on %s\nUsers sign in with the tokens that `piweb users` gave them. Ctrl-C stops.\n", link)
		return
	}
	a.printf("Open this link; it lets this browser in:\n\n  %s\n\nCtrl-C stops. The sessions stay in their files.\n", link)
}

func pageFS(ui string) (fs.FS, error) {
	if ui == "" {
		return web.FS(), nil
	}
	if _, err := os.Stat(filepath.Join(ui, "index.html")); err != nil {
		return nil, usage("--ui %s: there is no index.html in it (%v)", ui, err)
	}
	root, err := os.OpenRoot(ui)
	if err != nil {
		return nil, err
	}
	return root.FS(), nil
}

// serverDemo makes the demo in the home folder, under a name that is free.
func serverDemo(ctx context.Context, rt *piweb.Runtime) (server.Demo, error) {
	base := cwd()
	if home, err := os.UserHomeDir(); err == nil {
		base = home
	}
	for n := 1; n < 100; n++ {
		dir := filepath.Join(base, "piweb-demo")
		if n > 1 {
			dir += "-" + strconv.Itoa(n)
		}
		made, err := makeDemos(ctx, rt, dir)
		if errors.Is(err, errDemoThere) {
			continue
		}
		if err != nil {
			return server.Demo{}, err
		}
		d := server.Demo{CWD: dir, Sessions: []string{}}
		for _, s := range made {
			d.Sessions = append(d.Sessions, s.ID())
		}
		return d, nil
	}
	return server.Demo{}, errDemoThere
}
