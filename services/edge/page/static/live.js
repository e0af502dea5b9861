// The connection to the edge: messages and fleet rows come in batches, and after an interruption it resumes where it stopped.

const SHORTEST = 1000;
const LONGEST = 15000;

export class Live {
  /** `messages(batch)`, `fleet(changes)`, `gap()` when messages were missed, `status(word, good)` of the connection. */
  constructor(handlers) {
    Object.assign(this, handlers);
    this.cursor = "";
    this.wait = SHORTEST;
    this.open();
  }

  open() {
    const source = new EventSource(`/live${this.cursor ? `?after=${encodeURIComponent(this.cursor)}` : ""}`);
    source.addEventListener("open", () => {
      this.wait = SHORTEST;
      this.status("live", true);
    });
    source.addEventListener("messages", (event) => {
      if (event.lastEventId) this.cursor = event.lastEventId;
      this.messages(JSON.parse(event.data));
    });
    source.addEventListener("fleet", (event) => this.fleet(JSON.parse(event.data)));
    source.addEventListener("gap", () => this.gap());
    source.addEventListener("error", () => {
      this.status("disconnected, trying again", false);
      if (source.readyState === EventSource.CLOSED) this.reopen(); // the browser itself gives up on an answer it cannot use
    });
  }

  reopen() {
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(LONGEST, this.wait * 2);
  }
}
