// Watching files for a change of their content.
//   FW1. Directories are watched, since editors replace a file rather than write it. What else changes in them, such
//        as a store that lies beside the code, is nobody's concern.
//   FW2. Changes that come together are one.

import { watch, type FSWatcher } from "node:fs";
import { basename, dirname } from "node:path";

const TOGETHER_MS = 100;

export class FileWatch implements Disposable {
  readonly #names = new Map<string, Set<string>>();
  readonly #watchers: FSWatcher[] = [];
  #waiting: ((file: string) => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  add(file: string): void {
    const folder = dirname(file);
    const names = this.#names.get(folder);
    if (names !== undefined) {
      names.add(basename(file));
      return;
    }
    this.#names.set(folder, new Set([basename(file)]));
    const watcher = watch(folder, (_, name) => this.#saw(folder, name));
    watcher.on("error", () => watcher.close()); // the directory is gone
    this.#watchers.push(watcher);
  }

  /** The next file that changes from now on. */
  next(): Promise<string> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
  }

  #saw(folder: string, name: string | null): void {
    if (name === null || this.#names.get(folder)?.has(name) !== true) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const resolve of waiting) resolve(name);
    }, TOGETHER_MS);
  }
}
