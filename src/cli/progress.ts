// Progress of long work: a bar on standard error, if that is a terminal, gone when the work is.
//   PG1. Work that is over in a moment shows none.

import { displayWidth } from "./clean-text.ts";
import { cyan, dim, type Screen } from "./screen.ts";

const BAR_WIDTH = 24;
/** Often enough to look alive, seldom enough to cost nothing. */
const EVERY_MS = 80;
const LONG_MS = 400;

export class Progress {
  readonly #screen: Screen;
  readonly #what: string;
  readonly #total: number;
  #done = 0;
  #drawnAt = performance.now() + LONG_MS - EVERY_MS;
  #width = 0;

  constructor(screen: Screen, what: string, total: number) {
    this.#screen = screen;
    this.#what = what;
    this.#total = total;
  }

  step(count = 1): void {
    this.#done += count;
    const now = performance.now();
    if (!this.#screen.isTerminal || now - this.#drawnAt < EVERY_MS) return;
    this.#drawnAt = now;
    const share = Math.min(this.#done / Math.max(this.#total, 1), 1);
    const full = Math.round(share * BAR_WIDTH);
    const text = ` ${this.#done} of ${this.#total} ${this.#what}`;
    const bar = [cyan("█".repeat(full)), dim("░".repeat(BAR_WIDTH - full)), text];
    this.#width = BAR_WIDTH + displayWidth(text);
    this.#screen.verbatim(`\r${this.#screen.render(bar)}`);
  }

  /** Takes the bar away. */
  end(): void {
    if (this.#width > 0) this.#screen.verbatim(`\r${" ".repeat(this.#width)}\r`);
    this.#width = 0;
  }
}
