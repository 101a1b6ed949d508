// What a keyboard on the screen leaves of the window. Most browsers make the page
// smaller; some lay the keyboard over it, and the composer would be behind it.

/** Less than this is no keyboard: bars of the browser come and go. */
const least = 80;

/** Keeps the page's height (--room in app.css) at what can be seen. */
export function followKeyboard() {
  const view = globalThis.visualViewport;
  if (!view) return;
  const fit = () => {
    const zoomed = view.scale > 1.01; // by two fingers: then nothing is to be moved
    const covered = innerHeight - view.height;
    const style = document.documentElement.style;
    if (zoomed || covered < least) style.removeProperty("--room");
    else {
      style.setProperty("--room", `${Math.round(view.height)}px`);
      scrollTo(0, 0); // the browser may have pushed the page up
    }
  };
  view.addEventListener("resize", fit);
  view.addEventListener("scroll", fit);
}
