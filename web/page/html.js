// The one place where preact and htm meet: components write html`<p>…</p>`.
// Values put into a template become text or attributes, never markup.

import { h, Component } from "preact";
import { useEffect, useState } from "preact/hooks";
import htm from "htm";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);

/**
 * Store is a value that can be watched. Listeners are told once per change, not
 * what changed: they read what they need.
 * @template {object} S
 */
export class Store {
  /** @param {S} state */
  constructor(state) {
    /** @type {S} */
    this.state = state;
    /** @type {Set<() => void>} */
    this.listeners = new Set();
  }

  /** @param {Partial<S>} patch */
  set(patch) {
    this.state = { ...this.state, ...patch };
    for (const tell of [...this.listeners]) tell();
  }

  /** @param {() => void} tell */
  watch(tell) {
    this.listeners.add(tell);
    return () => {
      this.listeners.delete(tell);
    };
  }
}

/**
 * Renders the calling component again when the store changes.
 * @template {object} S
 * @param {Store<S>} store
 * @returns {S}
 */
export function useStore(store) {
  const [, again] = useState({});
  useEffect(() => {
    again({}); // what happened between rendering and watching
    return store.watch(() => again({}));
  }, [store]);
  return store.state;
}

/**
 * A component that renders anew only when one of its props is another value.
 * Long lists need it: one streamed word must not touch a thousand rows.
 * @param {(props: any) => any} render
 * @returns {any}
 */
export function memo(render) {
  return class extends Component {
    /** @param {any} next */
    shouldComponentUpdate(next) {
      const now = /** @type {any} */ (this.props);
      for (const k in next) if (next[k] !== now[k]) return true;
      for (const k in now) if (!(k in next)) return true;
      return false;
    }

    render() {
      return render(this.props);
    }
  };
}
