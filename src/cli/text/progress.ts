// A progress bar on standard error, if that is a terminal. end() removes it.
//   - Work that takes less than LONG_MS shows no bar.

import { displayWidth } from "./clean-text.ts";
import { cyan, dim, type Screen } from "./screen.ts";

const BAR_WIDTH = 24;
/** The shortest time between two updates of the bar. */
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

  /** Removes the bar. */
  end(): void {
    if (this.#width > 0) this.#screen.verbatim(`\r${" ".repeat(this.#width)}\r`);
    this.#width = 0;
  }
}
