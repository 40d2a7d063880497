// The agent's workspace: a folder of files, and the rule that a change happens once per key.
//   WS1. A change is written down whole before it is made (intent), made by replacing the file, and then marked
//        (done). Whoever repeats it finds the mark, or the intent, and never makes it a second time.
//   WS2. Only plain names: no path leads out of the folder, and nothing that begins with a dot is the agent's.

import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";

/** What a change comes to: the file's new content (null: no file) and what is said about it. */
export interface Change {
  readonly content: string | null;
  readonly outcome: string;
}

export class Workspace {
  readonly folder: string;
  readonly #effects: string;
  readonly #runs: string;

  constructor(folder: string) {
    this.folder = folder;
    this.#effects = join(folder, ".agent", "effects");
    this.#runs = join(folder, ".agent", "runs.log");
    mkdirSync(this.#effects, { recursive: true });
  }

  /** Null: there is no such file. */
  read(name: string): string | null {
    const path = this.#path(name);
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  }

  /** Changes a file once per key; a repeated call says what the first one said. */
  changeOnce(key: string, name: string, change: (before: string | null) => Change): string {
    const path = this.#path(name);
    const mark = join(this.#effects, key.replaceAll(":", "-"));
    const [intent, done] = [`${mark}.intent`, `${mark}.done`];
    if (existsSync(done)) return changeIn(done).outcome;
    if (!existsSync(intent)) replace(intent, JSON.stringify(change(this.read(name))));
    const { content, outcome } = changeIn(intent);
    if (content === null) rmSync(path, { force: true });
    else replace(path, content);
    renameSync(intent, done);
    return outcome;
  }

  /** Notes that an activity was entered, so that one can see afterwards what ran twice. */
  noteRun(activity: string, key: string, attempt: number): void {
    appendFileSync(this.#runs, `${activity} ${key} ${attempt} ${process.pid}\n`);
  }

  #path(name: string): string {
    if (/^\w[\w.-]*$/.test(name)) return join(this.folder, name);
    throw new Error(`"${name}" is not a file of the workspace`);
  }
}

function changeIn(file: string): Change {
  return JSON.parse(readFileSync(file, "utf8")) as Change; // written by changeOnce
}

/** The file has its old content or all of the new one, whenever the process dies. */
function replace(path: string, content: string): void {
  const half = `${path}.half`;
  const file = openSync(half, "w");
  writeSync(file, content);
  fsyncSync(file);
  closeSync(file);
  renameSync(half, path);
}
