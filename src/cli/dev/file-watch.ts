// Watches files for changes of their content.
//   - It watches the directories of the files, because many editors replace a file instead of writing to
//        it. It ignores other files in these directories, such as a SQLite store next to the code.
//   - Changes within TOGETHER_MS count as one change.

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

  /** Resolves with the name of the next file that changes. */
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
