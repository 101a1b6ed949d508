package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/discover"
	"github.com/spf13/cobra"
)

var (
	//go:embed help/models.md
	helpModels string
	//go:embed help/models-test.md
	helpModelsTest string
)

func (a *app) modelsCommand() *cobra.Command {
	var look bool
	var at []string
	cmd := &cobra.Command{
		Use: "models [TEXT]", Short: "Show which models can be used, look for local ones, try one", Long: helpModels,
		Args:    cobra.MaximumNArgs(1),
		Example: "  piweb models\n  piweb models sonnet\n  piweb models --discover\n  piweb models test anthropic/claude-sonnet-4-6",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			if look {
				return a.discover(cmd.Context(), at)
			}
			return a.listModels(rt, strings.Join(args, ""))
		}),
	}
	cmd.Flags().BoolVar(&look, "discover", false, "look for model servers on this machine")
	cmd.Flags().StringSliceVar(&at, "at", nil, "with --discover: look there too, as ID=HOST:PORT, such as ollama=127.0.0.1:11500")
	cmd.AddCommand(a.modelsTestCommand())
	return cmd
}

func (a *app) listModels(rt *piweb.Runtime, text string) error {
	list := []piweb.ModelLine{}
	for _, m := range rt.Models(cwd()) {
		if strings.Contains(strings.ToLower(m.Name+" "+m.Title), strings.ToLower(text)) {
			list = append(list, m)
		}
	}
	if a.json {
		return a.printJSON(list)
	}
	if len(list) == 0 {
		a.printf("no model has %q in its name\n", text)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tCONTEXT\tANSWER\tIN\tOUT\tPICTURES\tTHINKING")
	for _, m := range list {
		if m.Unavailable != "" {
			continue
		}
		in, out, pictures, thinking := "", "", "", ""
		if m.Cost != nil {
			in, out = dollars(m.Cost.Input), dollars(m.Cost.Output)
		}
		if m.Images {
			pictures = "yes"
		}
		if len(m.Levels) > 1 || len(m.Levels) == 1 && m.Levels[0] != "off" {
			thinking = strings.Join(m.Levels, " ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", oneLine(m.Name), tokens(m.ContextWindow), tokens(m.MaxTokens), in, out, pictures, thinking)
	}
	_ = w.Flush() // a failed write of a.out is told at the end
	for _, m := range list {
		if m.Unavailable != "" {
			a.printf("%s cannot be used: %s\n", oneLine(m.Name), oneLine(m.Unavailable))
		}
	}
	a.printf("\nSizes in tokens, prices in US dollars per million tokens.\n")
	if text == "" && len(list) == 1 {
		a.printf("The offline model is no real model. To use a real one, set a key, such as ANTHROPIC_API_KEY or\nOPENAI_API_KEY, or look for a server on this machine with `piweb models --discover`.\n")
	}
	return nil
}

func dollars(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// tokens is a size as people say it.
func tokens(n int) string {
	switch {
	case n == 0:
		return ""
	case n >= 1000000 && n%100000 < 50000:
		return strconv.FormatFloat(float64(n/100000)/10, 'g', 3, 64) + "M"
	case n >= 1000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.Itoa(n)
}

// discover prints the servers of this machine and the models.json for them.
func (a *app) discover(ctx context.Context, at []string) error {
	places := discover.Places()
	for _, wish := range at {
		id, addr, ok := strings.Cut(wish, "=")
		found := false
		for _, p := range discover.Places() {
			if ok && p.ID == id {
				places, found = append(places, p.At(addr)), true
			}
		}
		if !found {
			return usage("--at wants ID=HOST:PORT, with ollama, lmstudio, llamacpp or vllm for the ID; %q is none", wish)
		}
	}
	servers, err := discover.Look(ctx, places)
	if errors.Is(err, discover.ErrNotHere) {
		return usage("%v", err)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(append([]discover.Server{}, servers...))
	}
	if len(servers) == 0 {
		a.printf("No model server answers on this machine. Looked at:\n")
		for _, p := range places {
			a.printf("  %-10s %s\n", p.Name, p.Addr)
		}
		return nil
	}
	for _, s := range servers {
		a.printf("%s at %s: %d models\n", s.Name, s.BaseURL, len(s.Models))
		for _, m := range s.Models {
			a.printf("  %s %s\n", oneLine(m.ID), tokens(m.ContextWindow))
		}
	}
	a.printf("\nTo use them, put this into models.json of the agent directory:\n\n%s", string(discover.ModelsJSON(servers)))
	return nil
}

func (a *app) modelsTestCommand() *cobra.Command {
	var thinking string
	var limit time.Duration
	cmd := &cobra.Command{
		Use: "test MODEL", Short: "Ask a model for one word", Long: helpModelsTest,
		Args:    wantArgs(1, "one model: provider/id, or an id alone"),
		Example: "  piweb models test openai/gpt-5\n  piweb models test offline/echo",
		RunE: a.withRuntime(func(cmd *cobra.Command, rt *piweb.Runtime, args []string) error {
			if err := piweb.CheckThinking(thinking); err != nil {
				return usage("%v", err)
			}
			return a.testModel(cmd.Context(), rt, args[0], thinking, limit)
		}),
		ValidArgsFunction: a.completeModels,
	}
	cmd.Flags().StringVar(&thinking, "thinking", "off", "thinking level; the nearest that the model has is taken")
	cmd.Flags().DurationVar(&limit, "timeout", time.Minute, "how long to wait for the answer")
	return cmd
}

func (a *app) testModel(ctx context.Context, rt *piweb.Runtime, ref, thinking string, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no whole answer within %v", limit))
	defer cancel()
	p, err := rt.TryModel(ctx, cwd(), ref, thinking)
	switch {
	case errors.Is(err, piweb.ErrNoModel):
		return err
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w: %s: %w", errProvider, ref, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("%w: %w", errProvider, err)
	}
	if a.json {
		return a.printJSON(p)
	}
	a.printf("%s answers: %s\n", oneLine(p.Model), oneLine(p.Answer))
	a.printf("first word after %v, all after %v, %d tokens in, %d out\n", p.First.Round(time.Millisecond), p.Total.Round(time.Millisecond), p.Usage.Input+p.Usage.CacheRead+p.Usage.CacheWrite, p.Usage.Output)
	return nil
}
