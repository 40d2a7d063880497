// The agent's workspace: a folder of files, and the rule that a change happens once per key.
//   - A change is first recorded completely (intent), then made by replacing the file, then marked (done). A repeated
//        call finds the mark or the intent, and never makes the change a second time.
//   - Only plain names: no path leads out of the folder, and the agent has no access to names that begin with a dot.

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

/** The effect of a change: the file's new content (null: no file) and the message about it. */
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

  /** Null if the file does not exist. */
  read(name: string): string | null {
    const path = this.#path(name);
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  }

  /** Changes a file once per key; a repeated call returns the first outcome. */
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

  /** Records that an activity ran, to show afterwards what ran twice. */
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

/** Whenever the process dies, the file has either its old content or all of the new one. */
function replace(path: string, content: string): void {
  const half = `${path}.half`;
  const file = openSync(half, "w");
  writeSync(file, content);
  fsyncSync(file);
  closeSync(file);
  renameSync(half, path);
}
