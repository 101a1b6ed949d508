package main

import (
	_ "embed"
	"errors"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
	"github.com/spf13/cobra"
)

//go:embed help/users.md
var helpUsers string

// errUsers says that lines of the users file are not understood; which, is printed.
var errUsers = errors.New("not every line of the users file is understood")

func (a *app) usersCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "users", Short: "Say who may use a server, and whose a session is", Long: helpUsers, Args: cobra.NoArgs,
		Example: "  piweb users add alice\n  piweb users add ops --role metrics\n  piweb users rotate alice\n  piweb users give SESSION alice",
		RunE:    a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, _ []string) error { return a.listUsers(rt) })}
	role := string(account.Member)
	add := &cobra.Command{Use: "add NAME", Short: "Make a user and print the token, once", Args: wantArgs(1, "a name"),
		RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, args []string) error {
			token, err := account.OpenUsers(rt.AgentDir()).Add(args[0], account.Role(role))
			return a.printToken(args[0], token, badUser(err))
		})}
	add.Flags().StringVar(&role, "role", role, "user sees own sessions, admin sees all, metrics sees figures only")
	cmd.AddCommand(add,
		&cobra.Command{Use: "list", Short: "List the users", Args: cobra.NoArgs,
			RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, _ []string) error { return a.listUsers(rt) })},
		&cobra.Command{Use: "rotate NAME", Short: "Give a user another token; the old one is worth nothing at once", Args: wantArgs(1, "a name"),
			RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, args []string) error {
				token, err := account.OpenUsers(rt.AgentDir()).Rotate(args[0])
				return a.printToken(args[0], token, badUser(err))
			})},
		&cobra.Command{Use: "remove NAME", Short: "Take a user away; the sessions stay", Args: wantArgs(1, "a name"),
			RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, args []string) error {
				if err := account.OpenUsers(rt.AgentDir()).Remove(args[0]); err != nil {
					return badUser(err)
				}
				if a.json {
					return a.printJSON(map[string]string{"removed": args[0]})
				}
				a.printf("%s is no user any more. The sessions stay; `piweb users give` hands them to others.\n", args[0])
				return nil
			})},
		a.usersPurge(),
		&cobra.Command{Use: "give SESSION [NAME]", Short: "Say whose a session is; without a name it is nobody's", Args: cobra.RangeArgs(1, 2),
			RunE: a.withRuntime(func(_ *cobra.Command, rt *piweb.Runtime, args []string) error { return a.give(rt, args) })})
	return cmd
}

// badUser makes a mistake of the command line what it is.
func badUser(err error) error {
	for _, known := range []error{account.ErrName, account.ErrRole, account.ErrExists, account.ErrUnknown} {
		if errors.Is(err, known) {
			return usage("%v", err)
		}
	}
	return err
}

func (a *app) printToken(name, token string, err error) error {
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]string{"user": name, "token": token})
	}
	a.printf("The token of %s, which is shown now and never again:\n\n  %s\n\nA browser signs in with it on the page; a program sends it as `Authorization: Bearer`.\n", name, token)
	return nil
}

// userItem is a user as `users list --json` prints it.
type userItem struct {
	Name string       `json:"name"`
	Role account.Role `json:"role"`
	Made string       `json:"made"`
}

func (a *app) listUsers(rt *piweb.Runtime) error {
	users := account.OpenUsers(rt.AgentDir())
	list, problems, err := users.List()
	if err != nil {
		return err
	}
	if a.json {
		answer := struct {
			File     string     `json:"file"`
			Users    []userItem `json:"users"`
			Problems []string   `json:"problems"`
		}{users.Path(), []userItem{}, []string{}}
		for _, u := range list {
			answer.Users = append(answer.Users, userItem{u.Name, u.Role, u.Made.UTC().Format(session.TimeLayout)})
		}
		for _, p := range problems {
			answer.Problems = append(answer.Problems, p.String())
		}
		if err := a.printJSON(answer); err != nil {
			return err
		}
	} else {
		for _, u := range list {
			a.line(u.Name, "%-8s since %s", u.Role, u.Made.Local().Format("2006-01-02 15:04"))
		}
		if len(list)+len(problems) == 0 {
			a.printf("There are no users: only whoever has the link that `piweb serve` prints gets in.\n`piweb users add NAME` makes one.\n")
		}
		for _, p := range problems {
			a.notef("%s, %s\n", oneLine(users.Path()), p)
		}
	}
	if len(problems) > 0 {
		return silent{errUsers}
	}
	return nil
}

// give hands a session to a user, or takes it from whoever has it.
func (a *app) give(rt *piweb.Runtime, args []string) error {
	path, err := rt.Find(cwd(), args[0])
	if err != nil {
		return err
	}
	owner := ""
	if len(args) > 1 {
		if owner = args[1]; !account.ValidName(owner) {
			return usage("%v", account.ErrName)
		}
	}
	key, err := wrapper.RealPath(path)
	if err != nil {
		return err
	}
	if err := rt.Owners().Set(key, owner); err != nil {
		return err
	}
	switch _, known := account.OpenUsers(rt.AgentDir()).Get(owner); {
	case a.json:
		return a.printJSON(map[string]string{"session": path, "owner": owner})
	case owner == "":
		a.printf("%s is nobody's now: administrators see it.\n", oneLine(path))
	case known:
		a.printf("%s belongs to %s.\n", oneLine(path), owner)
	default:
		a.printf("%s belongs to %s, who is no user yet: piweb users add %s\n", oneLine(path), owner, owner)
	}
	return nil
}
