package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/server"
)

// TestUsersSignIn: two users sign in with their tokens on the page, each sees own
// sessions, and whoever has lost the token is out.
func TestUsersSignIn(t *testing.T) {
	browser := startBrowser(t)
	w := newWorld(t, browser, `{"steps":[{"text":"The answer for you.","repeat":true}]}`)
	users := account.OpenUsers(w.rt.AgentDir())
	tokens := map[string]string{}
	for _, name := range []string{"alice", "bob"} {
		var err error
		if tokens[name], err = users.Add(name, account.Member); err != nil {
			t.Fatal(err)
		}
	}
	w.serve(func(c *server.Config) { c.Users = users })
	enter := func(name string) *tab {
		b := newProfile(t, browser).tab(t, w.origin)
		b.during("status of 401", func() { b.do("open the page", chromedp.Navigate(w.origin)) })
		b.see("h1", "This browser is not signed in")
		b.axe("the sign-in")
		b.click("#token", "")
		b.do("type a wrong token", keys("piweb_WRONG"))
		b.during("status of 401", func() { b.click("button", "Sign in") })
		b.see("[role=alert]", "Nobody has this token")
		b.click("#token", "")
		b.do("type the token", keys(tokens[name]))
		b.click("button", "Sign in")
		b.until("the page is there", "document.querySelector('.item, .welcome')")
		if at := get[string](b, "location.href"); at != w.origin+"/" {
			t.Errorf("%s stands at %s", name, at)
		}
		return b
	}
	alice := enter("alice")
	hers := w.create()
	if err := w.rt.Owners().Set(w.live(hers).Log().Path(), "alice"); err != nil {
		t.Fatal(err)
	}
	alice.visit(hers)
	alice.send("hello from alice")
	alice.see(".transcript, main", "The answer for you.")
	alice.idle()
	bob := enter("bob")
	bob.until("bob has no sessions", "document.querySelector('.welcome') && !document.body.innerText.includes('hello from alice')")
	alice.during("status of 401", func() { // her page may ask for something before she does
		if err := users.Remove("alice"); err != nil {
			t.Fatal(err)
		}
		alice.do("come again", chromedp.Navigate(w.origin))
	})
	alice.see("h1", "This browser is not signed in")
}
