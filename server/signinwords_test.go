package server

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// TestSignInSpeaksTheBrowsersLanguage: the sign-in page is in the language of the page's
// that a browser wants most, and neither language lacks a text.
func TestSignInSpeaksTheBrowsersLanguage(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	for wanted, lang := range map[string]string{"": "en", "en-GB,en;q=0.9": "en", "zh-CN,zh;q=0.9,en;q=0.8": "zh-Hans", "zh": "zh-Hans", "ZH-hans": "zh-Hans",
		"de,zh;q=0.5,en;q=0.4": "zh-Hans", "de,en;q=0.5,zh;q=0.4": "en", "fr": "en", "zh;q=0, en": "en", "zh;q=0": "en", "zh;q=x": "en", ";;,,q=": "en", strings.Repeat("zh;q=0.1,", 2000): "zh-Hans"} {
		a := w.send(w.ask("GET", "/").with("Authorization", "").with("Accept-Language", wanted))
		if a.status != 401 || !strings.Contains(string(a.body), `<html lang="`+lang+`">`) {
			t.Errorf("%.40q: %d %.60s", wanted, a.status, a.body)
		}
	}
	for _, words := range []signInWords{signInEnglish, signInChinese} {
		v := reflect.ValueOf(words)
		for i := range v.NumField() {
			if v.Field(i).String() == "" {
				t.Errorf("%s has no %s", words.lang, v.Type().Field(i).Name)
			}
		}
		page := words.page(true, true, true)
		for _, part := range []string{`role="alert"`, `name="token"`, words.head, words.button} {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %s", words.lang, part)
			}
		}
	}
	r := httptest.NewRequest("GET", "/", nil)
	if signInLanguage(r) != signInEnglish {
		t.Error("who wants nothing gets another language than English")
	}
}
