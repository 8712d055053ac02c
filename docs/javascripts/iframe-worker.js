// Lets the search work when the site is opened from a folder. Browsers refuse workers on file:// pages, so that a hidden
// iframe takes the worker's place: it runs the same script, and messages go to and fro.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", {data}));
      inner.importScripts = (...urls) => urls.reduce((before, source) => before.then(() => load(inner, source)), Promise.resolve());
      this.ready = load(inner, new URL(url, location.href).href);
      this.inner = inner;
      this.frame = frame;
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", {data})));
    }
    terminate() {
      this.frame.remove();
    }
  };
  const load = (inner, source) =>
    new Promise((resolve, reject) => {
      const script = inner.document.createElement("script");
      script.src = source;
      script.onload = resolve;
      script.onerror = reject;
      inner.document.head.append(script);
    });
}
