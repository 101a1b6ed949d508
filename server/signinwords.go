package server

import (
	"net/http"
	"strconv"
	"strings"
)

// signInWords are the texts of the sign-in page, which stands before the page's own
// catalogues can be fetched. Those that are there have its languages.
type signInWords struct {
	lang, title, head, link, label, button, tokens, wrong string
}

var (
	signInEnglish = signInWords{"en", "piweb: not signed in", "This browser is not signed in",
		"Open the link that piweb printed in its terminal when it started. It holds a token that is needed once.",
		"Your token", "Sign in", "Whoever runs this piweb gives tokens out: <code>piweb users add NAME</code>.",
		"<strong>Nobody has this token.</strong> It may have been replaced by a newer one."}
	signInChinese = signInWords{"zh-Hans", "piweb：尚未登录", "此浏览器尚未登录",
		"请打开 piweb 启动时在终端中显示的链接。链接中的令牌只需使用一次。",
		"你的令牌", "登录", "令牌由运行此 piweb 的人发放：<code>piweb users add NAME</code>。",
		"<strong>没有人使用这个令牌。</strong>它可能已被新的令牌取代。"}
)

// signInLanguage is the texts in the language that a browser wants most of those that
// there are.
func signInLanguage(r *http.Request) signInWords {
	best, most := signInEnglish, 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, rest, _ := strings.Cut(part, ";")
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.TrimSpace(rest), "q="); ok {
			weight, _ = strconv.ParseFloat(q, 64)
		}
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		if weight <= most {
			continue
		}
		switch name {
		case "en":
			best, most = signInEnglish, weight
		case "zh":
			best, most = signInChinese, weight
		}
	}
	return best
}

// page is the whole page.
func (t signInWords) page(wrong, link, form bool) string {
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"" + t.lang + "\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>" + t.title + "</title>\n<style>" + signInStyle + "</style>\n<main>\n<h1>" + t.head + "</h1>\n")
	if wrong {
		b.WriteString("<p role=\"alert\">" + t.wrong + "</p>\n")
	}
	if link {
		b.WriteString("<p>" + t.link + "</p>\n")
	}
	if form {
		b.WriteString("<form method=\"post\" action=\"/sign-in\">\n<p><label for=\"token\">" + t.label + "</label><br>\n" +
			"<input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"current-password\" required autofocus></p>\n<p><button>" + t.button + "</button></p>\n</form>\n<p>" + t.tokens + "</p>\n")
	}
	b.WriteString("</main>\n</html>\n")
	return b.String()
}
