// One line to the edge: what is said comes in batches, and after a cut it goes on where it stopped.

const FIRST = 1000;
const LAST = 15000;

export class Live {
  /** `said(batch)`, `gap()` when something was missed, `line(word, good)` on the state of the line. */
  constructor(handlers) {
    Object.assign(this, handlers);
    this.mark = "";
    this.wait = FIRST;
    this.open();
  }

  open() {
    const source = new EventSource(`/live${this.mark ? `?after=${encodeURIComponent(this.mark)}` : ""}`);
    source.addEventListener("open", () => {
      this.wait = FIRST;
      this.line("live", true);
    });
    source.addEventListener("said", (event) => {
      if (event.lastEventId) this.mark = event.lastEventId;
      this.said(JSON.parse(event.data));
    });
    source.addEventListener("gap", () => this.gap());
    source.addEventListener("error", () => {
      this.line("cut off, trying again", false);
      if (source.readyState === EventSource.CLOSED) this.again(); // the browser itself gives up on an answer it cannot use
    });
  }

  again() {
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(LAST, this.wait * 2);
  }
}
